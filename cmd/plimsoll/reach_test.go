package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/internal/operator"
	"github.com/plimsoll-go/plimsoll/internal/process"
	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// journal keeps what a process logs, which prints the first token there.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) token() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return regexp.MustCompile(`plimsoll_\S+`).FindString(j.text.String())
}

// node is a whole process, in this one.
type node struct {
	*process.Process
	url, admin string
	log        *journal
}

func startNode(t testing.TB, text, upstream string) *node {
	t.Helper()
	n := &node{log: &journal{}}
	var err error
	n.Process, err = process.New(process.Config{Text: []byte(text), Log: n.log, Overlays: []config.Overlay{func(f *config.File) config.Errors {
		f.Upstream = config.URL(upstream)
		return nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	n.url, n.admin = "http://"+listeners[0].Addr().String(), "http://"+listeners[1].Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx, listeners[0], listeners[1]) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return n
}

func (n *node) client(t testing.TB, token string) *operator.Client {
	t.Helper()
	c, err := operator.New(operator.Config{Address: n.admin, Token: token, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fleetOf starts a fleet on one Redis, and returns a client of the first node.
func fleetOf(t testing.TB, size int, args ...string) ([]*node, *operator.Client) {
	t.Helper()
	redis := redistest.Start(t, args...)
	text := fmt.Sprintf("version: 1\nserver: {grace: 1s}\nstore: {driver: redis, budget: 1s, heartbeat: 500ms, redis: {dsn: 'unix://%s', patience: 5s, connections: 2}}\nstages: [{stage: workershed}]\n", redis.Socket)
	fleet := []*node{startNode(t, text, "http://127.0.0.1:1")}
	redistest.Eventually(t, "the first token is printed", func() bool { return fleet[0].log.token() != "" })
	for range size - 1 {
		fleet = append(fleet, startNode(t, text, "http://127.0.0.1:1"))
	}
	return fleet, fleet[0].client(t, fleet[0].log.token())
}

// shedBelow makes a shed through the API, and waits until every node applies it.
func shedBelow(t testing.TB, fleet []*node, c *operator.Client, below string) (took time.Duration) {
	t.Helper()
	o, _, err := c.Overrides(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	made, _, err := c.Create(t.Context(), &operator.Ask{What: control.Shed, Scope: control.Scope{Below: below}, Reason: "a test", Seconds: 600}, operator.Key(o.ETag))
	if err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, "every worker applies the change", func() bool {
		return !slices.ContainsFunc(fleet, func(n *node) bool { return n.Control().Effects().Version < made.Version })
	})
	return time.Since(begun)
}

// deafened are the arguments of a Redis that tells nobody of a change: what is
// left is the generation in the heartbeat.
var deafened = []string{"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-subscribe", "-psubscribe", "-ssubscribe"}

// A change through the API reaches twenty processes, also when no push does. How
// soon is measured by BenchmarkReach, and promised, in virtual time, by the
// tests of package control.
func TestTwentyProcessesFollowWithoutPushes(t *testing.T) {
	fleet, c := fleetOf(t, 20, deafened...)
	t.Logf("after %v", shedBelow(t, fleet, c, "normal"))
	for i, n := range fleet {
		if e := n.Control().Effects(); len(e.Sheds) != 1 || e.Sheds[0].Below != "normal" {
			t.Errorf("worker %d: %+v", i, e.Sheds)
		}
	}
}

// How long a change through the API takes to the last of twenty processes.
func BenchmarkReach(b *testing.B) {
	for name, args := range map[string][]string{"pushed": nil, "deaf": deafened} {
		b.Run(name, func(b *testing.B) {
			fleet, c := fleetOf(b, 20, args...)
			shedBelow(b, fleet, c, "normal")
			var all []time.Duration
			for b.Loop() {
				all = append(all, shedBelow(b, fleet, c, "high"))
			}
			report(b, all)
		})
	}
}

func report(b *testing.B, all []time.Duration) {
	b.Helper()
	slices.Sort(all)
	for _, p := range []int{50, 99, 100} {
		b.ReportMetric(float64(all[min(len(all)*p/100, len(all)-1)].Microseconds())/1000, fmt.Sprintf("ms-p%d", p))
	}
}

// How long the admin listener takes while its process is offered three times
// what its service can do.
func BenchmarkAdminUnderOverload(b *testing.B) {
	const capacity, each = 4, 20 * time.Millisecond
	places := make(chan struct{}, capacity)
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		places <- struct{}{}
		<-time.After(each) // the service's work
		<-places
	}))
	b.Cleanup(backend.Close)
	n := startNode(b, "version: 1\nserver: {grace: 1s}\nstages: [{stage: fleetshed}, {stage: workershed, max_in_flight: 4}]\n", backend.URL)
	redistest.Eventually(b, "the first token is printed", func() bool { return n.log.token() != "" })
	c := n.client(b, n.log.token())
	ctx, stop := context.WithCancel(b.Context())
	var load sync.WaitGroup
	ticks := time.NewTicker(each / (3 * capacity))
	callers := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 500, MaxConnsPerHost: 500}}
	load.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				load.Go(func() { call(ctx, callers, n.url) })
			}
		}
	})
	redistest.Eventually(b, "the process refuses", func() bool { refused, _ := n.counts(); return refused > 0 })
	refused0, offered0 := n.counts()
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	var all []time.Duration
	for b.Loop() {
		<-pace.C
		begun := time.Now()
		if _, err := c.Get(ctx, "/v1/top", nil); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Get(ctx, "/status", nil); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(begun)/2)
	}
	ticks.Stop()
	stop()
	load.Wait()
	refused, offered := n.counts()
	b.ReportMetric(float64(refused-refused0)/float64(offered-offered0), "refused/offered")
	report(b, all)
}

// counts is how many requests were refused, of how many.
func (n *node) counts() (refused, offered uint64) {
	for _, class := range n.Status().Counts.Classes {
		refused += class.Rejected
		offered += class.Rejected + class.Admitted + class.Abandoned
	}
	return refused, offered
}

func call(ctx context.Context, c *http.Client, url string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return
	}
	if answer, err := c.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}
