package control

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/store"
)

// deaf is a storage whose every push is lost, and that can be cut off.
type deaf struct {
	*Memory
	cut *atomic.Bool
}

func (d *deaf) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return ctx.Err()
}

func (d *deaf) Read(ctx context.Context) ([]byte, uint64, int64, error) {
	if d.cut.Load() {
		<-ctx.Done()
		return nil, 0, 0, ctx.Err()
	}
	return d.Memory.Read(ctx)
}

// Sync is the heartbeat of the same storage: it brings the revision.
func (d *deaf) Sync(ctx context.Context, _ store.Report) (store.View, error) {
	if d.cut.Load() {
		<-ctx.Done()
		return store.View{}, ctx.Err()
	}
	_, revision, _, err := d.Memory.Read(ctx)
	return store.View{Generation: revision, Live: 20, LeaseFor: time.Second}, err
}

// worker is a member of a fleet with a control, and what it applied.
type worker struct {
	control *Control
	cut     atomic.Bool
	sheds   atomic.Int32
	version atomic.Uint64
	back    atomic.Bool // a version went back
	at      atomic.Int64
}

func startWorker(t *testing.T, m *Memory) *worker {
	t.Helper()
	w := &worker{}
	storage := &deaf{m, &w.cut}
	w.control = newControl(t, Config{Storage: storage, Apply: func(e Effects) (map[string]string, error) {
		if e.Version < w.version.Swap(e.Version) {
			w.back.Store(true)
		}
		w.sheds.Store(int32(len(e.Sheds)))
		w.at.Store(time.Now().UnixNano())
		return nil, nil
	}})
	member, err := fleet.New(fleet.Config{Store: storage, OnView: func(v store.View) { w.control.Seen(v.Generation) }})
	if err != nil {
		t.Fatal(err)
	}
	go w.control.Run(t.Context())
	go member.Run(t.Context())
	return w
}

// Twenty workers apply each change within a second though every push is lost;
// one that is cut off ends what it knows by itself, and catches up afterwards.
func TestAFleetFollowsWithoutPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Memory{}
		workers := make([]*worker, 20)
		for i := range workers {
			workers[i] = startWorker(t, m)
		}
		author := newControl(t, Config{Storage: m})
		time.Sleep(3 * time.Second)
		for i := range 10 {
			at := time.Now().UnixNano()
			made := author.must(t, create(shed("high"), uint64(i+1)))
			time.Sleep(time.Second)
			for j, w := range workers {
				if w.version.Load() != made.Version || w.at.Load()-at > int64(time.Second) {
					t.Fatalf("change %d, worker %d: version %d, want %d", i, j, w.version.Load(), made.Version)
				}
			}
		}
		alone := workers[7]
		alone.cut.Store(true)
		change := create(shed("high"), 11)
		change.TTL = 12 * time.Hour
		author.must(t, change)
		time.Sleep(29 * time.Minute)
		if n := alone.sheds.Load(); n != 10 {
			t.Errorf("the worker that is cut off applies %d of 10", n)
		}
		time.Sleep(2 * time.Minute)
		if n := alone.sheds.Load(); n != 0 {
			t.Errorf("the worker that is cut off still applies %d that ended", n)
		}
		alone.cut.Store(false)
		time.Sleep(2*time.Second + 3*time.Second)
		if n := alone.sheds.Load(); n != 1 || alone.version.Load() != 12 {
			t.Errorf("the worker that is back applies %d at version %d", n, alone.version.Load())
		}
		for j, w := range workers {
			if w.back.Load() {
				t.Errorf("worker %d went back", j)
			}
		}
	})
}

// A storage whose clock differs from the worker's by hours ends overrides after
// the time that they were made for.
func TestClocksThatDiffer(t *testing.T) {
	for _, skew := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var sheds atomic.Int32
			m := &Memory{Now: func() time.Time { return time.Now().Add(skew) }}
			c := newControl(t, Config{Storage: m, Apply: func(e Effects) (map[string]string, error) {
				sheds.Store(int32(len(e.Sheds)))
				return nil, nil
			}})
			go c.Run(t.Context())
			c.must(t, create(shed("high"), 1))
			time.Sleep(30*time.Minute - time.Second)
			if sheds.Load() != 1 {
				t.Errorf("skew %v: it ended early", skew)
			}
			time.Sleep(2 * time.Second)
			if sheds.Load() != 0 {
				t.Errorf("skew %v: it did not end", skew)
			}
		})
	}
}

// What a person changes for this worker alone holds at once, though the fleet's
// storage hangs.
func TestALocalChangeWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWorker(t, &Memory{})
		time.Sleep(time.Second)
		w.cut.Store(true)
		time.Sleep(time.Minute)
		local := create(shed("high"), 1)
		local.LocalOnly = true
		w.control.must(t, local)
		synctest.Wait()
		if w.sheds.Load() != 1 {
			t.Error("it does not hold")
		}
		w.cut.Store(false)
		time.Sleep(10 * time.Second)
	})
}

// An apply that fails is tried again, and what held before is what State tells.
func TestApplyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		fail.Store(true)
		c := newControl(t, Config{Storage: &Memory{}, Apply: func(Effects) (map[string]string, error) {
			if fail.Load() {
				return nil, errors.New("no plan")
			}
			return map[string]string{"ov-x": "there is no stage"}, nil
		}})
		changes, cancel := c.Subscribe()
		defer cancel()
		go c.Run(t.Context())
		time.Sleep(time.Second)
		if s := c.State(); s.Fault != "no plan" {
			t.Errorf("%+v", s)
		}
		<-changes
		fail.Store(false)
		time.Sleep(3 * time.Second)
		<-changes
		if s := c.State(); s.Fault != "" || len(s.Unmet) != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// On a real server a push arrives, the heartbeat brings the revision, and a
// worker whose server restarts goes on.
func TestRedisPushes(t *testing.T) {
	srv := redistest.Start(t, "--save", "", "--appendonly", "yes")
	redis := onRedis(t, srv)
	storage := redis.Control(0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var version atomic.Uint64
	c := newControl(t, Config{Storage: storage, Apply: func(e Effects) (map[string]string, error) {
		version.Store(e.Version)
		return nil, nil
	}})
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Run(ctx) }()
	author := newControl(t, Config{Storage: onRedis(t, srv).Control(0)})
	redistest.Eventually(t, "it reads", func() bool { return version.Load() == 1 })
	author.must(t, create(shed("high"), 1))
	redistest.Eventually(t, "a change arrives", func() bool { return version.Load() == 2 })
	view, err := redis.Sync(t.Context(), store.Report{Worker: "w", Epoch: 1})
	if err != nil || view.Generation != 1 {
		t.Errorf("generation %d, %v; one record was made", view.Generation, err)
	}
	srv.Kill()
	srv.MustLaunch(t)
	redistest.Eventually(t, "a change is made again", func() bool {
		_, err := author.Do(t.Context(), create(shed("normal"), 2))
		return err == nil
	})
	redistest.Eventually(t, "it arrives after the restart", func() bool { return version.Load() == 3 })
	if v, err := author.Verify(t.Context()); err != nil || !v.OK() {
		t.Errorf("%+v, %v", v, err)
	}
	stop()
	<-ended
}
