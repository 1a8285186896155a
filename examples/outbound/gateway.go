package main

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// quota is how many calls the gateway takes in any second.
const quota = 10

// gateway is somebody else's payment API. It is strict: it looks at the second
// before each call, wherever that begins.
type gateway struct {
	mu    sync.Mutex
	taken []time.Time // within the last second
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if wait := g.take(time.Now()); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		http.Error(w, "too many calls", http.StatusTooManyRequests)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// take counts a call, or says how long none is taken.
func (g *gateway) take(now time.Time) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.taken) > 0 && now.Sub(g.taken[0]) >= time.Second {
		g.taken = g.taken[1:]
	}
	if len(g.taken) >= quota {
		return time.Second - now.Sub(g.taken[0])
	}
	g.taken = append(g.taken, now)
	return 0
}
