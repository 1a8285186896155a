package config

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// protect is a protection by the text of a file, without its first line.
func protect(t testing.TB, text string) *Protection {
	t.Helper()
	p, err := Protect(file(t, text), ProtectConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func file(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse("x.yml", []byte("version: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (p *Protection) apply(t testing.TB, text string) {
	t.Helper()
	if err := p.Apply(file(t, text)); err != nil {
		t.Fatal(err)
	}
}

// admit asks for n requests of a caller, and returns those that got in.
func (p *Protection) admit(n int, class priority.Class) (held []*pipeline.Request) {
	for range n {
		r := &pipeline.Request{Class: class, Caller: pipeline.Caller{ID: store.KeyOf("alice"), Name: "alice"}}
		r.Method, r.Path = "GET", "/"
		if p.pipeline.Acquire(context.Background(), r).Verdict == pipeline.Admit {
			held = append(held, r)
		}
	}
	return held
}

func (p *Protection) release(held []*pipeline.Request) {
	for _, r := range held {
		p.pipeline.Release(r, pipeline.Result{})
	}
}

func spend(t *testing.T, p *Protection, n, want int) {
	t.Helper()
	held := p.admit(n, priority.Normal)
	p.release(held)
	if len(held) != want {
		t.Errorf("%d of %d were admitted, want %d", len(held), n, want)
	}
}

func bucket(rate string, burst int) string {
	return fmt.Sprintf("stages: [{stage: ratelimit, limits: [{name: per-caller, rate: %s, burst: %d}]}]", rate, burst)
}

// What was spent of a bucket stays spent, whatever its new size.
func TestReloadKeepsBuckets(t *testing.T) {
	p := protect(t, bucket("10/day", 10))
	spend(t, p, 7, 7)
	p.apply(t, bucket("20/day", 20))
	spend(t, p, 20, 13)
	p.apply(t, bucket("5/day", 5))
	spend(t, p, 5, 0)
	p.apply(t, bucket("40/day", 40))
	held := p.admit(40, priority.Normal)
	p.release(held)
	if n := len(held); n < 20 || n > 35 { // 20 were spent in all, of which the small bucket may have forgotten what it cannot owe
		t.Errorf("%d of 40 were admitted", n)
	}
}

func slots(n int) string {
	return fmt.Sprintf("stages: [{stage: concurrency, limits: [{name: per-caller, max: %d}]}]", n)
}

// Holders of slots are neither lost nor counted twice.
func TestReloadKeepsSlots(t *testing.T) {
	p := protect(t, slots(5))
	held := p.admit(3, priority.Normal)
	p.apply(t, slots(4))
	more := p.admit(4, priority.Normal)
	if len(held) != 3 || len(more) != 1 {
		t.Fatalf("held %d, then %d more of 4", len(held), len(more))
	}
	p.apply(t, slots(2))
	if n := len(p.admit(1, priority.Normal)); n != 0 {
		t.Error("a fifth was admitted where two may be")
	}
	p.release(held)
	p.release(more)
	if n := len(p.admit(5, priority.Normal)); n != 2 {
		t.Errorf("after all were given back %d were admitted, want 2", n)
	}
}

func worker(n int) string {
	return fmt.Sprintf("stages: [{stage: fleetshed}, {stage: workershed, max_in_flight: %d, max_wait: 0s}]", n)
}

// What is in flight in the worker and in the fleet counts on, and so does what
// was learnt.
func TestReloadKeepsInFlightAndControllers(t *testing.T) {
	p := protect(t, worker(10))
	held := p.admit(10, priority.Critical)
	p.Current().Live.Worker().Pin(1.5)
	p.apply(t, worker(12))
	more := p.admit(10, priority.Critical)
	if len(held) != 10 || len(more) != 2 {
		t.Fatalf("held %d, then %d more of 10", len(held), len(more))
	}
	live := p.Current().Live
	s := live.Worker().Snapshot()
	if s.Level != 1.5 || !s.Pinned || s.InFlight[priority.Critical.Index()] != 12 || s.MaxInFlight != 10 && s.MaxInFlight != 12 {
		t.Errorf("the worker's state is %+v", s)
	}
	if n := live.Fleet().InFlight()[priority.Critical.Index()]; n != 12 {
		t.Errorf("%v in flight in the fleet, want 12", n)
	}
	p.release(held)
	p.release(more)
	if live.Worker().Snapshot().InFlight != [priority.Count]int{} || live.Fleet().InFlight().Sum() != 0 {
		t.Error("something is still counted")
	}
}

// The reserve is the file's, with a lease and without.
func TestFleetGoesByTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := protect(t, "stages: [{stage: fleetshed, capacity: 10, reserve: 0.5}, {stage: workershed, max_in_flight: 20}]")
		room := func(when string, want int) {
			t.Helper()
			held := p.admit(20, priority.High)
			p.release(held)
			if len(held) != want {
				t.Errorf("%s: %d were admitted, want %d", when, len(held), want)
			}
		}
		room("before the first heartbeat", 5)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		time.Sleep(3 * time.Second)
		if l := p.Current().Live.Member().Lease(); l.Capacity != 10 || l.Live != 1 {
			t.Errorf("the lease is %+v", l)
		}
		room("with a lease", 5)
		p.apply(t, "stages: [{stage: fleetshed, reserve: 0.25}, {stage: workershed, max_in_flight: 16}]")
		time.Sleep(3 * time.Second)
		if l := p.Current().Live.Member().Lease(); l.Capacity != 16 {
			t.Errorf("after the change the lease is %+v", l)
		}
		room("after a change", 12)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

// Nothing is a number too: a reserve of 0 and a wait of 0 are not the defaults.
func TestNothingIsNotTheDefault(t *testing.T) {
	p := protect(t, "stages: [{stage: fleetshed, capacity: 10, reserve: 0}]")
	if n := len(p.admit(20, priority.High)); n != 10 {
		t.Errorf("without a reserve %d were admitted, want 10", n)
	}
	synctest.Test(t, func(t *testing.T) {
		p := protect(t, worker(4))
		begun := time.Now()
		p.release(p.admit(20, priority.Critical))
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("without a wait requests waited %v", waited)
		}
	})
}

// State belongs to a stage's name: another name starts anew, and the old name
// finds its own when it comes back.
func TestStateBelongsToTheName(t *testing.T) {
	p := protect(t, worker(10))
	held := p.admit(4, priority.Critical)
	first := p.Current().Live.Worker()
	p.apply(t, "stages: [{stage: workershed, name: other}]")
	if p.Current().Live.Worker() == first || p.Current().Live.Fleet() != nil {
		t.Error("another name has the state, or a stage that is gone counts")
	}
	p.apply(t, worker(10))
	if p.Current().Live.Worker() != first {
		t.Error("the state is lost")
	}
	p.release(held)
	if first.Snapshot().InFlight != [priority.Count]int{} {
		t.Error("what was admitted before was not given back")
	}
}

// A file that cannot be built changes nothing.
func TestABadFileChangesNothing(t *testing.T) {
	p := protect(t, bucket("10/day", 10))
	plan, current := p.pipeline.Plan(), p.Current()
	bad := Default()
	bad.Stages[0].RateLimit.Limits[0].Burst = -1
	if err := p.Apply(bad); err == nil || !strings.Contains(err.Error(), "burst") {
		t.Errorf("got %v", err)
	}
	if p.pipeline.Plan() != plan || p.Current() != current {
		t.Error("something changed")
	}
	spend(t, p, 20, 10)
}

// A build that nobody adopts leaves the running state as it is.
func TestBuildAloneChangesNothing(t *testing.T) {
	p := protect(t, worker(10))
	live := p.Current().Live
	b, err := Build(file(t, "stages: [{stage: fleetshed, name: x}, {stage: workershed, name: y}]"), live)
	if err != nil {
		t.Fatal(err)
	}
	if live.workershed["y"] != nil || live.Worker() != live.workershed["workershed"] || live.usage.capacity() != 10 {
		t.Error("the running state knows of it")
	}
	if b.Live.guard != live.guard || b.Live.member != live.member {
		t.Error("the process has a second store or membership")
	}
}

func TestRestartNamesWhatWaits(t *testing.T) {
	p := protect(t, "")
	p.apply(t, "listen: 127.0.0.1:1\nserver: {grace: 1s, tls: {cert: a, key: b}}\nlog: {level: warn, format: json}\nstages: []")
	want := []string{"listen", "server.grace", "server.tls.cert", "server.tls.key", "log.format"}
	if got := p.Current().Restart; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p.apply(t, "")
	if got := p.Current().Restart; len(got) != 0 {
		t.Errorf("back at the first file: %v", got)
	}
	if got := Changes(Default(), file(t, "log: {level: warn}\nstages: []")); !slices.Equal(got, []string{"stages", "log.level"}) {
		t.Errorf("changes are %v", got)
	}
}

// Files change while requests run: nothing is lost, nothing is left behind.
func TestReloadUnderLoad(t *testing.T) {
	files := []string{
		worker(64), worker(100), slots(50), bucket("1000000/s", 1_000_000), "", "stages: []",
		"stages: [{stage: concurrency, limits: [{name: per-caller, max: 50}]}, {stage: workershed}]",
	}
	p := protect(t, worker(64))
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p.release(p.admit(5, priority.Critical))
				}
			}
		})
	}
	for i := range 60 {
		p.apply(t, files[i%len(files)])
	}
	close(stop)
	group.Wait()
	p.apply(t, files[len(files)-1])
	live := p.Current().Live
	for name, s := range live.workershed {
		if s.Snapshot().InFlight != [priority.Count]int{} {
			t.Errorf("%s still counts %v", name, s.Snapshot().InFlight)
		}
	}
	for name, s := range live.fleetshed {
		if s.InFlight().Sum() != 0 {
			t.Errorf("%s still counts %v", name, s.InFlight())
		}
	}
	if n := len(p.admit(60, priority.Critical)); n != 50 {
		t.Errorf("of 60 slots 50 should be free, got %d", n)
	}
}

// serve is the status of one request.
func serve(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var okay = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// Behind a load balancer that nobody listed, all clients have one address. The
// built-in configuration lets them be: what protects the service then is what
// the service can do, not who asks.
func TestBuiltInConfigurationLetsALoadBalancerBe(t *testing.T) {
	p := protect(t, "")
	h := p.Wrap(okay)
	for i := range 5000 {
		if w := serve(h, "GET", "/"); w.Code != http.StatusOK {
			t.Fatalf("request %d: %d %s", i, w.Code, w.Body)
		}
	}
	inside, leave := make(chan struct{}), make(chan struct{})
	slow := p.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside <- struct{}{}; <-leave }))
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			if w := serve(slow, "GET", "/"); w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, w.Body)
				inside <- struct{}{}
			}
		})
	}
	for range 100 {
		<-inside
	}
	close(leave)
	group.Wait()
}

// A caller with a key of its own is held to its burst.
func TestBuiltInConfigurationLimitsCallers(t *testing.T) {
	h := protect(t, "").Wrap(okay)
	refused := 0
	for range 1500 {
		if w := serve(h, "GET", "/", "X-Api-Key", "alice"); w.Code == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 500 {
		t.Errorf("%d of 1500 were refused", refused)
	}
	if w := serve(h, "GET", "/", "X-Api-Key", "bob"); w.Code != http.StatusOK {
		t.Errorf("another caller got %d", w.Code)
	}
}
