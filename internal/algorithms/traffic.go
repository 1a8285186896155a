package algorithms

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// Subject is an algorithm in a picture: all of them are set to 10 a second.
type Subject struct {
	File  string // of the picture, without its end
	Title string
	limit func() (*store.Limit, error)
}

// Subjects are the pictures of docs/algorithms.md, in its order.
func Subjects() []Subject {
	rate := limit.Per(10, time.Second)
	plain := func(a store.Algorithm, burst int64) func() (*store.Limit, error) {
		return func() (*store.Limit, error) { return store.NewTokens("picture", a, rate, burst) }
	}
	return []Subject{
		{"token-bucket", "token-bucket, rate 10/s, burst 10", plain(store.TokenBucket, 10)},
		{"fixed-window", "fixed-window, rate 10/s", plain(store.FixedWindow, 0)},
		{"sliding-window", "sliding-window, rate 10/s", plain(store.SlidingWindow, 0)},
		{"sliding-log", "sliding-log, rate 10/s", plain(store.SlidingLog, 0)},
		{"strict-window", "strict-window, rate 10/s", plain(store.StrictWindow, 0)},
		{"leaky-bucket", "leaky-bucket, rate 10/s, burst 9", func() (*store.Limit, error) { return store.NewLeaky("picture", rate, 9, 0) }},
		{"leaky-bucket-nodelay", "leaky-bucket, rate 10/s, burst 9, nodelay", plain(store.LeakyBucket, 9)},
	}
}

// length is how much time a picture shows.
const length = 6 * time.Second

// arrivals is what is asked in a picture: a flood over the end of the first
// second, then half as much again as the limit, a second of silence, and five
// times the limit.
func arrivals() (at []time.Duration) {
	every := func(from, to, step time.Duration) {
		for t := from; t < to; t += step {
			at = append(at, t)
		}
	}
	every(800*time.Millisecond, 1200*time.Millisecond, 10*time.Millisecond)
	every(1200*time.Millisecond, 3*time.Second, 66*time.Millisecond)
	every(4*time.Second, length, 20*time.Millisecond)
	return at
}

// request is one of a picture.
type request struct {
	came, went time.Duration // went is later where the request was held
	admitted   bool
}

// begin is the moment that pictures begin at: a whole second.
var begin = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixNano()

// run asks the embedded store for each arrival.
func (s *Subject) run() ([]request, error) {
	l, err := s.limit()
	if err != nil {
		return nil, err
	}
	m, err := memstore.New(memstore.Config{MaxKeys: 64})
	if err != nil {
		return nil, err
	}
	var requests []request
	for _, at := range arrivals() {
		g, err := store.ClaimOne(context.Background(), m, store.Claim{Owner: store.KeyOf("somebody"), Limit: l, Cost: 1}, begin+int64(at))
		if err != nil {
			return nil, err
		}
		requests = append(requests, request{at, at + g.Delay, g.OK})
	}
	return requests, nil
}

// within is how many were admitted in the window's length before a moment.
func within(requests []request, moment time.Duration) (n int) {
	for _, r := range requests {
		if r.admitted && r.went <= moment && r.went > moment-time.Second {
			n++
		}
	}
	return n
}
