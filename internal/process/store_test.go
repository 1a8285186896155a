package process

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// onRedis is a file whose limits lie in Redis. The budget is that of a busy
// machine, so that no decision is made without the store while it is there.
const onRedis = `
version: 1
server: {grace: 5s}
store:
  driver: redis
  budget: 1s
  heartbeat: 100ms
  redis: {dsn: "%s", patience: 2s}
priority: {default: critical}
stages:
  - stage: ratelimit
    on_fault: %s
    limits: [{name: all, key: [], match: {path: /limited}, rate: %d/h}]
  - stage: concurrency
    on_fault: %s
    limits: [{name: slots, key: [], max: 2, lease: 1m}]
  - stage: fleetshed
  - stage: workershed
`

func onRedisAt(t *testing.T, dsn, onFault string, limit int) string {
	t.Helper()
	return file(t, fmt.Sprintf(onRedis, dsn, onFault, limit, onFault))
}

// eventually waits for what other processes bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	redistest.Eventually(t, what, ok)
}

// answers asks some workers in turn, and counts the statuses.
func answers(t *testing.T, n int, workers ...*running) map[int]int {
	t.Helper()
	counts := map[int]int{}
	for i := range n {
		status, _ := get(t, workers[i%len(workers)].url+"/limited")
		counts[status]++
	}
	return counts
}

// Three workers share one limit, exactly, and know of each other; one that is
// drained takes its leave, and gives back what it holds.
func TestWorkersShareTheirLimits(t *testing.T) {
	redis := redistest.Start(t, "--maxmemory-policy", "noeviction")
	entered, leave := make(chan struct{}), make(chan struct{})
	hold := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			entered <- struct{}{}
			<-leave
		}
		hello(w, r)
	}
	path := onRedisAt(t, "unix://"+redis.Socket, "closed", 100)
	workers := []*running{start(t, path, hold), start(t, path, hold), start(t, path, hold)}
	eventually(t, "each knows of three", func() bool {
		return workers[0].Status().Fleet.Live == 3 && workers[1].Status().Fleet.Live == 3 && workers[2].Status().Fleet.Live == 3
	})
	if got := answers(t, 118, workers...); got[200] != 100 || got[429] != 18 {
		t.Errorf("of 118 requests under a limit of 100: %v", got)
	}
	held := make(chan int, 2)
	for range 2 {
		go func() {
			status, _ := get(t, workers[0].url+"/hold")
			held <- status
		}()
		<-entered
	}
	if status, _ := get(t, workers[1].url); status != http.StatusTooManyRequests {
		t.Errorf("with both slots held elsewhere: %d", status)
	}
	ended := make(chan error, 1)
	go func() { ended <- workers[0].stop() }()
	eventually(t, "the others know that it drains", func() bool { return workers[1].Status().Fleet.Drained == 1 })
	close(leave)
	if a, b := <-held, <-held; a != 200 || b != 200 {
		t.Errorf("those in flight got %d and %d", a, b)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if status, _ := get(t, workers[1].url); status != http.StatusOK {
		t.Errorf("when the slots were given back: %d", status)
	}
	for _, w := range workers[1:] {
		s := w.Status()
		if s.Store.Driver != "redis" || s.Store.State != "ok" || s.Store.Calls.Fallback != 0 || s.Store.Place != redis.Socket {
			t.Errorf("its store is %+v, %+v", s.Store, s.Store.Calls)
		}
	}
	if log := workers[1].log.String(); !strings.Contains(log, "store: redis at "+redis.Socket+", keys plimsoll:*, budget 1s, up to 4 connections") || strings.Contains(log, "WARN") {
		t.Errorf("its log:\n%s", log)
	}
}

// A worker starts without its store, says so with what helps, decides as each
// stage's policy says, and finds the store when it comes.
func TestAWorkerStartsWithoutItsStore(t *testing.T) {
	redis := redistest.Prepare(t, redistest.Config{TCP: true, Args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}})
	w := start(t, onRedisAt(t, "redis://"+redis.Addr, "local", 10), hello)
	var s admin.Status
	eventually(t, "it knows that the store is down, and why", func() bool {
		s = w.Status()
		return s.Store.State == "down" && s.Store.Cause != ""
	})
	if s.Store.Since.IsZero() || !strings.Contains(s.Store.Cause, "connection refused") || s.State != admin.Serving {
		t.Errorf("the status is %+v", s.Store)
	}
	if got := answers(t, 12, w); got[200] != 10 || got[429] != 2 {
		t.Errorf("by itself: %v", got)
	}
	if n := w.Status().Store.Calls.Fallback; n != 12 {
		t.Errorf("%d decisions without the store, want 12", n)
	}
	for _, part := range []string{
		"the store does not answer; until it does, these decide by their on_fault: ratelimit (local), concurrency (local)",
		"store: reachable: nobody listens there", "start the server, or correct the address",
	} {
		eventually(t, "it says "+part, func() bool { return strings.Contains(w.log.String(), part) })
	}
	redis.MustLaunch(t)
	eventually(t, "it finds the store", func() bool { return w.Status().Store.State == "ok" })
	eventually(t, "it makes the first token", func() bool { return strings.Contains(w.log.String(), "first token for the API") })
	eventually(t, "it looks at the store", func() bool {
		return strings.Contains(w.log.String(), "store: eviction: maxmemory-policy allkeys-lru")
	})
	if !strings.Contains(w.log.String(), "CONFIG SET maxmemory-policy noeviction") {
		t.Errorf("the log names no cure:\n%s", w.log)
	}
}

// Without the store, each worker goes by its share of each limit, as many as
// there were workers; or refuses, or admits, as the stage's policy says.
func TestWithoutTheStoreThePolicyDecides(t *testing.T) {
	for _, c := range []struct {
		onFault string
		want    map[int]int
	}{
		{"local", map[int]int{200: 5, 429: 7}},
		{"closed", map[int]int{503: 12}},
		{"open", map[int]int{200: 12}},
	} {
		t.Run(c.onFault, func(t *testing.T) {
			redis := redistest.Start(t)
			path := onRedisAt(t, "unix://"+redis.Socket, c.onFault, 10)
			a, b := start(t, path, hello), start(t, path, hello)
			eventually(t, "they know of each other", func() bool { return a.Status().Fleet.Live == 2 && b.Status().Fleet.Live == 2 })
			redis.Kill()
			eventually(t, "it knows that the store is down", func() bool { return a.Status().Store.State == "down" })
			if got := answers(t, 12, a); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// No password shows in the log, the status or the metrics, wherever it came from.
func TestNoPasswordShows(t *testing.T) {
	const password = "hunter2-and-more"
	redis := redistest.Prepare(t, redistest.Config{TCP: true, Args: []string{"--requirepass", "another"}})
	redis.MustLaunch(t)
	w := start(t, onRedisAt(t, "redis://:"+password+"@"+redis.Addr, "local", 10), hello)
	eventually(t, "it says what is wrong", func() bool { return strings.Contains(w.log.String(), "does not accept the user's password") })
	eventually(t, "it knows that the store is down", func() bool { return w.Status().Store.State == "down" })
	_, status := get(t, w.side+"/status")
	_, metrics := get(t, w.side+"/metrics")
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{"log": w.log.String(), "status": status, "metrics": metrics} {
		if strings.Contains(text, password) || text == "" {
			t.Errorf("the %s shows the password:\n%s", name, text)
		}
	}
}
