package fleetshed

import (
	"context"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/pipeline/stagetest"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

var _ fleet.Usage = (*State)(nil)
var _ Leaser = (*fleet.Member)(nil)

// fixed is a lease that a test sets.
type fixed struct {
	room  float64
	known bool
}

func (f *fixed) Room(int64) (float64, bool) { return f.room, f.known }

func leased(room float64) *fixed { return &fixed{room, true} }

func mustNew(t testing.TB, c Config, state *State) *Stage {
	t.Helper()
	s, err := New(c, state)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(c priority.Class) *pipeline.Request { return &pipeline.Request{Class: c, Now: 1} }

// enter looks and takes, and reports whether the request is in.
func (s *Stage) enter(r *pipeline.Request) (pipeline.Permit, bool) {
	if s.Look(r).Verdict != pipeline.Admit {
		return 0, false
	}
	d := s.Take(context.Background(), r)
	return d.Permit, d.Verdict == pipeline.Admit
}

// fill enters requests of a class until one is refused.
func (s *Stage) fill(c priority.Class) (permits []pipeline.Permit) {
	for range 1000 {
		p, in := s.enter(request(c))
		if !in {
			break
		}
		permits = append(permits, p)
	}
	return permits
}

func TestContract(t *testing.T) {
	for name, lease := range map[string]*fixed{"ample": leased(1e6), "small": leased(7), "none": leased(0), "unknown": {}} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, func(t *testing.T) stagetest.Subject {
				return stagetest.Subject{
					Stage:   mustNew(t, Config{Lease: lease, MaxStreams: 3}, &State{}),
					Request: func() *pipeline.Request { return request(priority.Normal) },
				}
			})
		})
	}
}

func TestClassesAreNestedInTheLease(t *testing.T) {
	s := mustNew(t, Config{Lease: leased(40)}, &State{})
	for _, step := range []struct {
		class priority.Class
		more  int
	}{{priority.Low, 36}, {priority.Low, 0}, {priority.Normal, 2}, {priority.Low, 0}, {priority.High, 2}, {priority.Normal, 0}, {priority.High, 0}} {
		if got := len(s.fill(step.class)); got != step.more {
			t.Errorf("%s: %d more were admitted, want %d", step.class, got, step.more)
		}
	}
	if got := len(s.fill(priority.Critical)); got != 1000 {
		t.Errorf("critical: %d were admitted beside a full lease", got)
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	s := mustNew(t, Config{Lease: leased(0)}, &State{})
	for name, ask := range map[string]func(*pipeline.Request) pipeline.Decision{
		"look": s.Look,
		"take": func(r *pipeline.Request) pipeline.Decision { return s.Take(t.Context(), r) },
	} {
		r := request(priority.High)
		if d := ask(r); d != pipeline.Refuse(pipeline.FleetShed) || r.Detail.Rule != "fleet" || r.Detail.RetryAfter != time.Second {
			t.Errorf("%s: %+v, %+v", name, d, r.Detail)
		}
	}
}

func TestRoom(t *testing.T) {
	capacity := func(c float64) func() float64 { return func() float64 { return c } }
	for _, c := range []struct {
		name   string
		config Config
		normal int // admitted; 1000 is everything
	}{
		{"nothing is known", Config{}, 1000},
		{"no lease yet, and nothing is known", Config{Lease: &fixed{}, Capacity: capacity(0)}, 1000},
		{"no lease yet", Config{Lease: &fixed{}, Capacity: capacity(100), ClassCaps: flat}, 80},
		{"no fleet", Config{Capacity: capacity(100), ClassCaps: flat}, 80},
		{"no fleet, declared", Config{Declared: 50, ClassCaps: flat}, 40},
		{"no fleet, declared below its own", Config{Declared: 50, Capacity: capacity(100), ClassCaps: flat}, 40},
		{"no fleet, declared above its own", Config{Declared: 500, Capacity: capacity(100), ClassCaps: flat}, 80},
		{"another reserve", Config{Reserve: 0.5, Capacity: capacity(100), ClassCaps: flat}, 50},
		{"no reserve", Config{Reserve: NoReserve, Capacity: capacity(100), ClassCaps: flat}, 100},
		{"a lease has the reserve taken off", Config{Lease: leased(30), Capacity: capacity(100), ClassCaps: flat}, 30},
		{"whole requests", Config{Lease: leased(2.9), ClassCaps: flat}, 2},
		{"but for rounding", Config{Lease: leased(0.8*20 - 1e-9), ClassCaps: flat}, 16},
		{"some room is room for one", Config{Lease: leased(0.01)}, 1},
		{"no room", Config{Lease: leased(0)}, 0},
		{"room without end", Config{Lease: leased(math.Inf(1))}, 1000},
		{"not a number is no room", Config{Lease: leased(math.NaN())}, 0},
		{"a share of nothing", Config{Lease: leased(100), ClassCaps: [4]float64{0, 0, 1, 1}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := len(mustNew(t, c.config, &State{}).fill(priority.Normal)); got != c.normal {
				t.Errorf("%d were admitted, want %d", got, c.normal)
			}
		})
	}
}

var flat = [priority.Count]float64{1, 1, 1, 1}

func TestTheRaceForTheLastPlace(t *testing.T) {
	state := &State{}
	s := mustNew(t, Config{Lease: leased(1)}, state)
	a, b := request(priority.High), request(priority.High)
	if s.Look(a).Verdict != pipeline.Admit || s.Look(b).Verdict != pipeline.Admit {
		t.Fatal("both look before either takes")
	}
	first, second := s.Take(t.Context(), a), s.Take(t.Context(), b)
	if first.Verdict != pipeline.Admit || second.Reason != pipeline.FleetShed {
		t.Errorf("takes: %+v, %+v", first, second)
	}
	s.Release(a, first.Permit, pipeline.Result{})
	if got := state.InFlight(); got.Sum() != 0 {
		t.Errorf("in flight %v", got)
	}
}

// TestWhatIsRefusedRefusesNobodyElse hammers a class at its cap while a more
// critical one has one place left.
func TestWhatIsRefusedRefusesNobodyElse(t *testing.T) {
	s := mustNew(t, Config{Lease: leased(4)}, &State{})
	if got := len(s.fill(priority.Low)); got != 3 {
		t.Fatalf("%d low requests of a lease of 4", got)
	}
	var group sync.WaitGroup
	var tries atomic.Int64
	stop := make(chan struct{})
	for range 4 {
		group.Go(func() {
			r := request(priority.Low)
			for {
				select {
				case <-stop:
					return
				default:
					if d := s.Take(context.Background(), r); d.Verdict == pipeline.Admit {
						t.Error("a low request took the last place")
						return
					}
					tries.Add(1)
				}
			}
		})
	}
	r := request(priority.High)
	for i := range 30_000 {
		if i%2000 == 0 { // let the others go on, to be interrupted wherever they are
			for seen := tries.Load(); tries.Load() < seen+100; {
				runtime.Gosched()
			}
		}
		if n := counts(s.state.inFlight.Load()).total(); n != 3 {
			t.Errorf("%d in flight at try %d, where all others are refused", n, i)
			break
		}
		d := s.Take(t.Context(), r)
		if d.Verdict != pipeline.Admit {
			t.Errorf("high was refused its place at try %d", i)
			break
		}
		s.Release(r, d.Permit, pipeline.Result{})
	}
	close(stop)
	group.Wait()
}

func TestNeverAboveTheLease(t *testing.T) {
	state := &State{}
	s := mustNew(t, Config{Lease: leased(10)}, state)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			r := request(priority.FromIndex(i % 4))
			for range 5000 {
				p, in := s.enter(r)
				if n := counts(state.inFlight.Load()).total(); n > 10 {
					t.Errorf("%d in flight of a lease of 10", n)
				}
				if in {
					s.Release(r, p, pipeline.Result{})
				}
			}
		})
	}
	group.Wait()
	if got := state.InFlight(); got != (store.PerClass{}) {
		t.Errorf("in flight at the end: %v", got)
	}
}

func TestStreams(t *testing.T) {
	state := &State{}
	s := mustNew(t, Config{Lease: leased(1), MaxStreams: 2}, state)
	r := request(priority.High)
	var open []pipeline.Permit
	for range 2 {
		p, in := s.enter(r)
		if !in {
			t.Fatal("a stream still takes room")
		}
		d := s.Detach(r, p)
		if d.Verdict != pipeline.Admit || s.Detach(r, d.Permit) != d {
			t.Fatalf("detach: %+v, again %+v", d, s.Detach(r, d.Permit))
		}
		open = append(open, d.Permit)
	}
	p, _ := s.enter(r)
	if d := s.Detach(r, p); d != pipeline.Refuse(pipeline.FleetShed) || r.Detail.Rule != "fleet-streams" {
		t.Errorf("one stream more: %+v, %+v", d, r.Detail)
	}
	if state.Streams() != 2 || state.InFlight().Sum() != 1 {
		t.Errorf("%d streams, %v in flight", state.Streams(), state.InFlight())
	}
	c := request(priority.Critical)
	cp, _ := s.enter(c)
	d := s.Detach(c, cp)
	if d.Verdict != pipeline.Admit || state.Streams() != 3 {
		t.Errorf("a critical stream: %+v, %d open", d, state.Streams())
	}
	for _, p := range append(open, p, d.Permit) {
		s.Release(r, p, pipeline.Result{})
	}
	if state.Streams() != 0 || state.InFlight().Sum() != 0 {
		t.Errorf("at the end %d streams, %v in flight", state.Streams(), state.InFlight())
	}
	if d := s.Detach(r, 0); d != (pipeline.Decision{}) {
		t.Errorf("a request that the stage does not hold: %+v", d)
	}
}

func TestTheClassMayChangeMeanwhile(t *testing.T) {
	state := &State{}
	s := mustNew(t, Config{Lease: leased(10)}, state)
	r := request(priority.Low)
	p, _ := s.enter(r)
	r.Class = priority.Critical
	s.Release(r, p, pipeline.Result{})
	if state.InFlight() != (store.PerClass{}) {
		t.Errorf("in flight %v", state.InFlight())
	}
}

func TestSettingsChangeAndTheCountStays(t *testing.T) {
	state := &State{}
	old := mustNew(t, Config{Lease: leased(10)}, state)
	permits := old.fill(priority.High)
	changed := mustNew(t, Config{Lease: leased(12)}, state)
	if got := len(changed.fill(priority.High)); got != 2 {
		t.Errorf("%d more in a lease of two more", got)
	}
	for _, p := range permits {
		changed.Release(request(priority.High), p, pipeline.Result{})
	}
	if got := state.InFlight(); got.Sum() != 2 {
		t.Errorf("in flight %v", got)
	}
}

// TestPriority draws a state, a room and caps: whatever admits a class admits
// every more critical one, and critical is never refused.
func TestPriority(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		caps := [priority.Count]float64{}
		for class := range critical {
			caps[class] = rapid.Float64Range(0, 1).Draw(t, "cap")
			if class > 0 {
				caps[class] = max(caps[class], caps[class-1])
			}
		}
		state := &State{}
		for class := range critical {
			state.inFlight.Add(uint64(one(class)) * rapid.Uint64Range(0, 40).Draw(t, "in flight"))
		}
		lease := &fixed{rapid.Float64Range(-1, 100).Draw(t, "room"), rapid.Bool().Draw(t, "known")}
		own := rapid.Float64Range(0, 100).Draw(t, "own")
		s, err := New(Config{Lease: lease, ClassCaps: caps, Capacity: func() float64 { return own }}, state)
		if err != nil {
			t.Fatal(err)
		}
		before := false
		for _, class := range priority.All {
			_, in := s.enter(request(class))
			if before && !in {
				t.Fatalf("%s is refused where a less critical one is admitted: %+v, caps %v, in flight %v", class, lease, caps, state.InFlight())
			}
			before = in
			if in {
				s.Release(request(class), permitOf(class.Index()), pipeline.Result{})
			}
		}
		if !before {
			t.Fatal("critical was refused")
		}
	})
}

// TestAgainstCounting plays requests against plain counting.
func TestAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state, lease := &State{}, leased(0)
		s, err := New(Config{Lease: lease, MaxStreams: 2}, state)
		if err != nil {
			t.Fatal(err)
		}
		type held struct {
			class  int
			permit pipeline.Permit
		}
		var in, open []held
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				lease.room = rapid.Float64Range(0, 30).Draw(t, "room")
			case 1:
				if len(in) > 0 {
					i := rapid.IntRange(0, len(in)-1).Draw(t, "which")
					s.Release(request(0), in[i].permit, pipeline.Result{})
					in = append(in[:i], in[i+1:]...)
				}
			case 2:
				if len(in) > 0 {
					d := s.Detach(request(0), in[0].permit)
					if (d.Verdict == pipeline.Admit) != (len(open) < 2 || in[0].class == critical) {
						t.Fatalf("stream of class %d beside %d: %+v", in[0].class, len(open), d)
					}
					if d.Verdict == pipeline.Admit {
						open = append(open, held{in[0].class, d.Permit})
						in = in[1:]
					}
				}
			case 3:
				if len(open) > 0 {
					s.Release(request(0), open[0].permit, pipeline.Result{})
					open = open[1:]
				}
			default:
				class := rapid.IntRange(0, critical).Draw(t, "class")
				n := 0
				for _, h := range in {
					if h.class != critical {
						n++
					}
				}
				want := class == critical || lease.room > 0 && (n == 0 || float64(n+1) <= lease.room*defaultCaps[class]+1e-6)
				p, got := s.enter(request(priority.FromIndex(class)))
				if got != want {
					t.Fatalf("class %d beside %d in a room of %v: admitted %v", class, n, lease.room, got)
				}
				if got {
					in = append(in, held{class, p})
				}
			}
			var want store.PerClass
			for _, h := range in {
				want[h.class]++
			}
			if state.InFlight() != want || state.Streams() != int64(len(open)) {
				t.Fatalf("in flight %v and %d streams, want %v and %d", state.InFlight(), state.Streams(), want, len(open))
			}
		}
	})
}

func TestUsage(t *testing.T) {
	const beat = int64(500 * time.Millisecond)
	state := &State{}
	s := mustNew(t, Config{Lease: leased(4), ClassCaps: flat}, state)
	check := func(what string, now int64, wantIn, wantDemand, wantRefused float64) {
		t.Helper()
		in, demanded, refused := state.Usage(now)
		if in[1] != wantIn || math.Abs(demanded[1]-wantDemand) > 1e-9 || refused[1] != wantRefused {
			t.Errorf("%s: %v in flight, %v demanded, %v refused; want %v, %v, %v",
				what, in[1], demanded[1], refused[1], wantIn, wantDemand, wantRefused)
		}
	}
	check("at first", beat, 0, 0, 0)
	permits := s.fill(priority.Normal)
	s.Tick(0)
	for _, p := range permits[2:] {
		s.Release(request(priority.Normal), p, pipeline.Result{})
	}
	s.Tick(0)
	// Four were admitted and three were in flight on average; one was refused.
	check("averaged", 2*beat, 3, 3+3.0/4, 1)
	check("an instant when nobody looked, and nothing twice", 3*beat, 2, 2, 0)
	for range 2 {
		s.fill(priority.Normal) // two more, then a refusal; then a refusal
	}
	s.Tick(0)
	check("full", 4*beat, 4, 4+2*4.0/2, 2)
	for range 10 {
		s.Look(request(priority.Normal))
	}
	// Nothing was admitted: the last known stay of two beats holds.
	check("stuck", 5*beat, 4, 4+10*2, 10)
	c := request(priority.Critical)
	s.enter(c)
	if in, demanded, _ := state.Usage(6 * beat); in[3] != 1 || demanded[3] != 1 {
		t.Errorf("critical: %v in flight, %v demanded", in[3], demanded[3])
	}
	if got := state.Refused(); got[1] != 13 {
		t.Errorf("refused since ever: %v", got)
	}
}

// Requests of 2 ms are seldom met by a look every tenth of a second. How long
// they stay is known from the beats in which some were, and what is refused
// meanwhile asks for room; so it does after a clock that went back.
func TestUsageOfRequestsThatNoLookMeets(t *testing.T) {
	const beat = int64(500 * time.Millisecond)
	state := &State{}
	lease := leased(2)
	s := mustNew(t, Config{Lease: lease, ClassCaps: flat}, state)
	now := beat
	demanded := func(met bool, took int64) float64 {
		for i := range 500 {
			p, in := s.enter(request(priority.Normal))
			if met && i == 0 {
				s.Tick(0)
			}
			if in {
				s.Release(request(priority.Normal), p, pipeline.Result{})
			}
		}
		lease.room = 0
		for range 500 {
			s.Look(request(priority.Normal))
		}
		lease.room = 2
		s.Tick(0)
		now += took
		_, d, _ := state.Usage(now)
		return d[priority.Normal.Index()]
	}
	state.Usage(now)
	if got := demanded(true, beat); math.Abs(got-1) > 1e-9 { // half of the looks met one; as many were refused
		t.Errorf("where a look met one: %v demanded, want 1", got)
	}
	for what, took := range map[string]int64{"where none did": beat, "a clock that went back": -beat} {
		if got := demanded(took < 0, took); took > 0 && math.Abs(got-0.5) > 1e-9 || got < 0 {
			t.Errorf("%s: %v demanded", what, got)
		}
		if got := demanded(false, beat); math.Abs(got-0.5) > 1e-9 {
			t.Errorf("the beat after %q: %v demanded, want 0.5", what, got)
		}
	}
}

// A newcomer that has no room yet, and so has admitted nothing, asks for what
// its callers may need: 40 a second that stay a tenth of one need four places.
// It asks neither for none, nor for all that the fleet has.
func TestANewcomerAsksForWhatItMayNeed(t *testing.T) {
	const beat = int64(500 * time.Millisecond)
	state := &State{}
	s := mustNew(t, Config{Lease: leased(0)}, state)
	state.Usage(beat)
	for range 20 {
		s.Look(request(priority.Normal))
	}
	if _, demanded, _ := state.Usage(2 * beat); demanded[priority.Normal.Index()] < 1 || demanded[priority.Normal.Index()] > 10 {
		t.Errorf("20 refused in half a second: %v places demanded", demanded[priority.Normal.Index()])
	}
}

// TestAFleetOfThisWorker runs the stage with a real member on a ledger.
func TestAFleetOfThisWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := &State{}
		ledger := ledgerStore{&store.Ledger{}}
		m, err := fleet.New(fleet.Config{
			Store: ledger, Usage: state, Capacity: func() float64 { return 100 }, Terms: fleet.Terms{Reserve: 0.2},
			Now: func() int64 { return time.Now().UnixNano() },
		})
		if err != nil {
			t.Fatal(err)
		}
		s := mustNew(t, Config{Lease: m, Capacity: func() float64 { return 100 }, ClassCaps: flat}, state)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = m.Run(ctx) }()
		synctest.Wait()
		enter := func(c priority.Class, n int) (in int) {
			for range n {
				r := request(c)
				r.Now = time.Now().UnixNano()
				if _, ok := s.enter(r); ok {
					in++
				}
			}
			return in
		}
		if got := enter(priority.Normal, 200); got != 80 {
			t.Errorf("%d of 200 were admitted at once, want 80", got)
		}
		if got := enter(priority.Critical, 30); got != 30 {
			t.Errorf("%d of 30 critical ones were admitted", got)
		}
		time.Sleep(time.Second)
		if room, _ := s.Room(time.Now().UnixNano()); room != 50 {
			t.Errorf("a beat later the room is %v beside 30 critical requests", room)
		}
		cancel()
		<-done
	})
}

type ledgerStore struct{ *store.Ledger }

func (l ledgerStore) Sync(_ context.Context, r store.Report) (store.View, error) {
	return l.Ledger.Sync(r), nil
}

func TestFaultyConfigurations(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   []string
	}{
		{"all at once", Config{Reserve: 0.95, Declared: -1, MaxStreams: -1, ClassCaps: [4]float64{0.5, 1.5, 0.2, 0}},
			[]string{"reserve must be 0 … 0.9, got 0.95", "capacity must be 0 or more", "max_streams", "class_caps.normal must be 0 … 1, got 1.5", "class_caps.high must not be below"}},
		{"not numbers", Config{Reserve: math.NaN(), Declared: math.Inf(1), ClassCaps: [4]float64{math.NaN(), 1, 1}},
			[]string{"reserve", "capacity", "class_caps.low"}},
		{"below", Config{Reserve: -0.5}, []string{"reserve"}},
	} {
		_, err := New(c.config, &State{})
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not name %q", c.name, err, want)
			}
		}
	}
	if s, err := New(Config{}, nil); err != nil || s.State() == nil {
		t.Errorf("a stage of its own state: %v", err)
	}
	if s := mustNew(t, Config{}, &State{}); s.Reserve() != DefaultReserve || s.State() == nil {
		t.Errorf("the default reserve is %v", s.Reserve())
	}
}

func TestNothingAllocates(t *testing.T) {
	s := mustNew(t, Config{Lease: leased(10)}, &State{})
	r := request(priority.High)
	full := mustNew(t, Config{Lease: leased(0)}, &State{})
	for name, f := range map[string]func(){
		"admit": func() {
			p, _ := s.enter(r)
			s.Release(r, p, pipeline.Result{})
		},
		"refuse": func() { full.Look(r) },
		"tick":   func() { s.Tick(1) },
		"usage":  func() { s.State().Usage(1) },
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	s := mustNew(b, Config{Lease: leased(1000)}, &State{})
	b.Run("one", func(b *testing.B) {
		r := request(priority.Normal)
		for b.Loop() {
			p, _ := s.enter(r)
			s.Release(r, p, pipeline.Result{})
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			r := request(priority.Normal)
			for pb.Next() {
				p, _ := s.enter(r)
				s.Release(r, p, pipeline.Result{})
			}
		})
	})
}

func BenchmarkRefuse(b *testing.B) {
	s := mustNew(b, Config{Lease: leased(0)}, &State{})
	r := request(priority.Normal)
	for b.Loop() {
		s.Look(r)
	}
}
