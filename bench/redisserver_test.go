package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// redisServer is the one server that all contestants ask, over the loopback.
// TestMain ends it.
var redisServer = sync.OnceValues(func() (*redistest.Server, error) {
	s, err := redistest.New(redistest.Config{TCP: true})
	if err != nil {
		return nil, err
	}
	redisRuns = s
	redisstore.Silence() // the library would say that a server is not there yet
	return s, s.Launch(context.Background())
})

var redisRuns *redistest.Server // nil until a benchmark needs one

func endRedis() {
	if redisRuns != nil {
		redisRuns.End()
	}
}

func redisOf(b *testing.B) *redistest.Server {
	b.Helper()
	s, err := redisServer()
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// redisIdle is what the server uses while nobody asks, in microseconds a second.
var redisIdle = sync.OnceValue(func() float64 {
	before, begun := redisUse(redisRuns), time.Now()
	<-time.After(300 * time.Millisecond)
	return (redisUse(redisRuns).cpu - before.cpu) / time.Since(begun).Seconds()
})

// use is what a server has done since it started.
type use struct {
	cpu   float64 // microseconds of the processor, of the whole process
	calls float64 // scripts, and members taken out of sets: what clients ask for here
}

func redisUse(s *redistest.Server) (u use) {
	text, err := s.Admin.Info(context.Background(), "cpu", "commandstats").Result()
	if err != nil {
		return u
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		var v float64
		_, _ = fmt.Sscanf(strings.TrimPrefix(value, "calls="), "%f", &v)
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			u.cpu += v * 1e6
		case "cmdstat_evalsha", "cmdstat_zrem":
			u.calls += v
		}
	}
	return u
}
