package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

var _ Storage = (*redisstore.Control)(nil)

func TestMain(m *testing.M) {
	redisstore.Silence()
	os.Exit(m.Run())
}

func onRedis(t testing.TB, srv *redistest.Server) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(redisstore.Config{Addrs: []string{srv.Socket}, Patience: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// storages are all kinds, each fresh.
func storages(t *testing.T) map[string]func() Storage {
	srv := redistest.Start(t)
	n := 0
	return map[string]func() Storage{
		"memory": func() Storage { return &Memory{} },
		"file": func() Storage {
			n++
			f, err := OpenFile(FileConfig{Dir: filepath.Join(t.TempDir(), fmt.Sprint(n)), SegmentBytes: 8 << 10})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		},
		"redis": func() Storage {
			srv.Do(t, "FLUSHALL")
			return onRedis(t, srv).Control(0)
		},
	}
}

// Whatever several people do on a storage, from several processes: the versions
// that each of them sees only rise, who is second is told so, every change and
// every such attempt has its record, and the records are chained.
func TestTheDocumentIsAMachine(t *testing.T) {
	for name, fresh := range storages(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { runMachine(rt, t, fresh()) })
		})
	}
}

func runMachine(rt *rapid.T, t *testing.T, storage Storage) {
	steps := 25
	if _, syncs := storage.(*File); syncs {
		steps = 5 // each waits for the disk
	}
	workers := []*Control{newControl(t, Config{Storage: storage}), newControl(t, Config{Storage: storage}), newControl(t, Config{Storage: storage})}
	actors := []Actor{ann, bob, eve}
	model := Document{Version: 1}
	records, highest := uint64(0), [3]uint64{}
	for range rapid.IntRange(1, steps).Draw(rt, "steps") {
		i := rapid.IntRange(0, 2).Draw(rt, "who")
		c := Change{Actor: actors[i], TTL: time.Duration(rapid.IntRange(10, 3600).Draw(rt, "seconds")) * time.Second}
		stale := rapid.IntRange(0, 4).Draw(rt, "stale") == 0
		c.Expect = model.Version
		if stale {
			c.Expect = rapid.Uint64Range(1, model.Version+3).Draw(rt, "version")
		}
		if n := len(model.Overrides); n > 0 && rapid.Bool().Draw(rt, "alter") {
			c.ID = model.Overrides[rapid.IntRange(0, n-1).Draw(rt, "which")].ID
			c.Action = rapid.SampledFrom([]Action{Extend, Revoke}).Draw(rt, "action")
		} else {
			c.Action, c.Override = Create, shed(rapid.SampledFrom([]string{"normal", "high", "critical"}).Draw(rt, "below"))
		}
		res, err := workers[i].Do(t.Context(), c)
		switch {
		case c.Expect != model.Version:
			if !isStale(err) {
				rt.Fatalf("version %d of %d: %v", c.Expect, model.Version, err)
			}
			records++
		case err != nil:
			rt.Fatalf("%+v: %v", c, err)
		default:
			records++
			model.Version++
			model.apply(c.Action, &res.Override)
			if res.Version != model.Version || res.Seq != records {
				rt.Fatalf("%+v, want version %d, record %d", res, model.Version, records)
			}
		}
		for j, w := range workers {
			if err := w.Refresh(t.Context()); err != nil {
				rt.Fatal(err)
			}
			s := w.State()
			if s.Document.Version < highest[j] || s.Document.Version != model.Version || len(s.Document.Overrides) != len(model.Overrides) {
				rt.Fatalf("worker %d sees version %d with %d overrides after %d; want %d with %d",
					j, s.Document.Version, len(s.Document.Overrides), highest[j], model.Version, len(model.Overrides))
			}
			highest[j] = s.Document.Version
		}
	}
	v, err := workers[0].Verify(t.Context())
	if err != nil || !v.OK() || v.Records != records {
		rt.Fatalf("%+v, %v; want %d records", v, err, records)
	}
}

// apply is what a change does to the model.
func (d *Document) apply(a Action, o *Override) {
	found := d.Find(o.ID)
	switch a {
	case Create:
		d.Overrides = append(d.Overrides, *o)
	case Revoke:
		i := 0
		for d.Overrides[i].ID != o.ID {
			i++
		}
		d.Overrides = append(d.Overrides[:i:i], d.Overrides[i+1:]...)
	default:
		*found = *o
	}
}

// Of many who change at once on one version, one wins; the others are told, and
// all of them are in the trail, which does not fork.
func TestManyAtOnce(t *testing.T) {
	for name, fresh := range storages(t) {
		t.Run(name, func(t *testing.T) {
			const people = 12
			storage := fresh()
			var group sync.WaitGroup
			won, stale := make(chan Result, people), make(chan error, people)
			for i := range people {
				c := newControl(t, Config{Storage: storage})
				group.Go(func() {
					change := create(shed("high"), 1)
					change.Actor.Name = fmt.Sprint("person ", i)
					r, err := c.Do(context.Background(), change)
					if err != nil {
						stale <- err
						return
					}
					won <- r
				})
			}
			group.Wait()
			if len(won) != 1 || len(stale) != people-1 {
				t.Fatalf("%d won", len(won))
			}
			for range people - 1 {
				if err := <-stale; !isStale(err) {
					t.Errorf("%v", err)
				}
			}
			c := newControl(t, Config{Storage: storage})
			if v, err := c.Verify(t.Context()); err != nil || !v.OK() || v.Records != people {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// flaky is a storage whose swaps are made, or not, and are not answered.
type flaky struct {
	Storage
	lose, drop bool
	down       bool
}

var errNoAnswer = errors.New("no answer")

func (f *flaky) Read(ctx context.Context) ([]byte, uint64, int64, error) {
	if f.down {
		return nil, 0, 0, errNoAnswer
	}
	return f.Storage.Read(ctx)
}

func (f *flaky) Swap(ctx context.Context, revision, next uint64, state, record []byte) (bool, error) {
	if f.drop {
		return false, errNoAnswer
	}
	ok, err := f.Storage.Swap(ctx, revision, next, state, record)
	if f.lose {
		f.down = true // so that it cannot find out at once
		return false, errNoAnswer
	}
	return ok, err
}

// A change whose answer is lost is not known, and sending it again with its key
// makes it once, whether the first was made or not.
func TestALostAnswer(t *testing.T) {
	for _, made := range []bool{true, false} {
		f := &flaky{Storage: &Memory{}, lose: made, drop: !made}
		c := newControl(t, Config{Storage: f})
		change := create(shed("high"), 1)
		change.Key = "night-1"
		_, err := c.Do(t.Context(), change)
		if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.Key != "night-1" || !errors.Is(err, errNoAnswer) {
			t.Fatalf("made %t: %v", made, err)
		}
		f.lose, f.drop, f.down = false, false, false
		res, err := c.Do(t.Context(), change)
		if err != nil || res.Replayed != made || res.Version != 2 {
			t.Errorf("made %t: %+v, %v", made, res, err)
		}
		if s := check(t, c, "after"); len(s.Document.Overrides) != 1 || s.Document.Version != 2 {
			t.Errorf("made %t: %+v", made, s.Document)
		}
	}
}

// An answer that is lost though the change was made is found out by reading
// again.
func TestALostAnswerIsLookedFor(t *testing.T) {
	f := &answerless{Storage: &Memory{}}
	c := newControl(t, Config{Storage: f})
	if res, err := c.Do(t.Context(), create(shed("high"), 1)); err != nil || res.Replayed || res.Version != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}

type answerless struct{ Storage }

func (f *answerless) Swap(ctx context.Context, revision, next uint64, state, record []byte) (bool, error) {
	_, _ = f.Storage.Swap(ctx, revision, next, state, record)
	return false, errNoAnswer
}

// A storage that cannot be read changes nothing.
func TestAStorageThatIsDown(t *testing.T) {
	f := &flaky{Storage: &Memory{}, down: true}
	c := newControl(t, Config{Storage: f})
	if _, err := c.Do(t.Context(), create(shed("high"), 1)); !isUnavailable(err) {
		t.Errorf("%v", err)
	}
	local := create(shed("high"), 1)
	local.Override.LocalOnly = true
	if r := c.must(t, local); !r.Override.LocalOnly {
		t.Errorf("%+v", r)
	}
	if s := c.State(); len(s.Active) != 1 || len(s.Local.Overrides) != 1 || len(s.Document.Overrides) != 0 {
		t.Errorf("%+v", s)
	}
}

// A server that comes back without its last changes, or without any, does not
// take back what a worker knows, and can be changed on.
func TestAStorageThatLostChanges(t *testing.T) {
	for name, lose := range map[string]func(m *Memory, at2 func()){
		"the last ones": func(_ *Memory, at2 func()) { at2() },
		"all":           func(m *Memory, _ func()) { m.state, m.revision, m.records, m.dropped = nil, 0, nil, 0 },
	} {
		m := &Memory{}
		c := newControl(t, Config{Storage: m})
		c.must(t, create(shed("normal"), 1))
		state, revision, records := m.state, m.revision, m.records
		c.must(t, create(shed("high"), 2))
		lose(m, func() { m.state, m.revision, m.records = state, revision, records })
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := c.State()
		if !s.Lost || s.Document.Version != 3 || len(s.Active) != 2 {
			t.Errorf("%s: lost %t, version %d, %d active", name, s.Lost, s.Document.Version, len(s.Active))
		}
		c.must(t, create(shed("critical"), 3))
		if s := check(t, c, name); s.Lost || s.Document.Version != 4 || len(s.Active) != 3 || s.Revision <= 2 {
			t.Errorf("%s: %+v", name, s)
		}
		other := newControl(t, Config{Storage: m})
		if s := check(t, other, name); len(s.Active) != 3 {
			t.Errorf("%s: another worker sees %d", name, len(s.Active))
		}
	}
}
