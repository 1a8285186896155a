package fleet

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sample is a look at the whole fleet.
type Sample struct {
	At       float64 // seconds since the start
	Critical int     // in flight, on the workers that answer
	Others   int
	Room     float64 // their limits, summed: what is true
	Known    float64 // the capacity of the fleet, as the middle one of them has heard it
	Live     int     // workers, as it has heard
	Leased   int     // workers that go by a lease
	Running  int     // workers that are neither killed nor frozen
	Able     float64 // what these can do, in calls a second
	Calls    int64   // commands that Redis has carried out for the workers since the start
}

// Above is how many non-critical requests are in flight above what the reserve
// leaves: the room of the workers that run, less a fifth, less what critical
// requests use of the rest.
func (s *Sample) Above() float64 {
	return max(0, float64(s.Others)-((1-reserve)*s.Room-float64(s.Critical)))
}

// often is how long from look to look.
const often = 100 * time.Millisecond

// watch looks until the context ends.
func watch(ctx context.Context, s *scene) (samples []Sample) {
	began := time.Now()
	tick := time.NewTicker(often)
	defer tick.Stop()
	count := newCounter(s.server.Socket)
	defer count.client.Close()
	for {
		select {
		case <-ctx.Done():
			return samples
		case <-tick.C:
		}
		sample := look(ctx, s.crew)
		sample.At, sample.Calls = time.Since(began).Seconds(), count.calls(ctx)
		if ctx.Err() == nil {
			samples = append(samples, sample)
		}
	}
}

// look asks all workers at once.
func look(ctx context.Context, c *crew) (sum Sample) {
	var states [size]State
	var ok [size]bool
	var group sync.WaitGroup
	for i := range size {
		group.Go(func() { states[i], ok[i] = c.look(ctx, i) })
	}
	group.Wait()
	var heard []State
	for i := range size {
		if m := c.members[i].Load(); m.running.Load() {
			sum.Running++
			sum.Able += m.able()
		}
		if !ok[i] {
			continue
		}
		heard = append(heard, states[i])
		sum.Critical += states[i].Critical
		sum.Others += states[i].Others
		sum.Room += float64(states[i].Limit)
		if states[i].Leased {
			sum.Leased++
		}
	}
	if len(heard) > 0 {
		slices.SortFunc(heard, func(a, b State) int { return int(a.Capacity - b.Capacity) })
		middle := heard[len(heard)/2]
		sum.Known, sum.Live = middle.Capacity, middle.Live
	}
	return sum
}

// counter adds up what Redis has done, also over its restarts.
type counter struct {
	client    *redis.Client
	sum, last int64
	next      time.Time
}

func newCounter(socket string) *counter {
	return &counter{client: redis.NewClient(&redis.Options{
		Network: "unix", Addr: socket, ContextTimeoutEnabled: true, MaxRetries: -1, DisableIdentity: true,
	})}
}

// calls is how many commands the workers have sent, as far as Redis has said so
// within the last second. What a script does within is not counted again.
func (c *counter) calls(ctx context.Context) int64 {
	if time.Now().Before(c.next) {
		return c.sum
	}
	c.next = time.Now().Add(time.Second / 2)
	ctx, cancel := context.WithTimeout(ctx, often/2)
	defer cancel()
	text, err := c.client.Info(ctx, "commandstats").Result()
	if err != nil {
		return c.sum
	}
	now := sent(text)
	if now < c.last {
		c.last = 0 // it was restarted
	}
	c.sum, c.last = c.sum+now-c.last, now
	return c.sum
}

// sent adds up the calls of commands that a client sends and a script does not.
func sent(commandstats string) (n int64) {
	for line := range strings.Lines(commandstats) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		switch name {
		case "eval", "evalsha", "fcall", "ping", "script|load":
			calls, _, _ := strings.Cut(rest, ",")
			count, _ := strconv.ParseInt(calls, 10, 64)
			n += count
		}
	}
	return n
}
