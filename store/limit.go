package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

// Kind is what a limit counts. The zero value is tokens.
type Kind uint8

// The kinds.
const (
	Tokens Kind = iota // spent, and not returned when the request ends
	Slots              // held while the request runs
)

// Algorithm is how a limit on tokens counts. The zero value is the token bucket.
type Algorithm uint8

// The algorithms.
const (
	TokenBucket   Algorithm = iota // burst + rate·W in any window W
	FixedWindow                    // the rate's count in each aligned window, or of a calendar
	SlidingWindow                  // two aligned windows, weighed; as loose as a bucket, for compatibility
	SlidingLog                     // exact in every window, for counts up to limit.MostLogged
	StrictWindow                   // never more than the rate's count in any window, a little conservative
	LeakyBucket                    // NGINX's limit_req to the digit, burst, delay and nodelay
)

var algorithms = [...]string{"token-bucket", "fixed-window", "sliding-window", "sliding-log", "strict-window", "leaky-bucket"}

// strictParts is how many parts a strict window has: it is conservative by up
// to one of them.
const strictParts = 15

// String is the word of the configuration.
func (a Algorithm) String() string { return algorithms[a] }

// ParseAlgorithm reads the word of the configuration.
func ParseAlgorithm(word string) (Algorithm, error) {
	for i, name := range algorithms {
		if name == word {
			return Algorithm(i), nil
		}
	}
	return 0, fmt.Errorf("store: unknown algorithm %q, allowed: %v", word, algorithms)
}

// Limit is one limit, prepared for its drivers. It is immutable; a changed
// limit is a new Limit of the same name, and state carries over.
type Limit struct {
	Name      string
	Kind      Kind
	Algorithm Algorithm
	Rate      limit.Rate    // tokens: how fast they come
	Burst     int64         // tokens: how many may wait to be spent
	Delay     int64         // leaky bucket: how many requests beside the first pass without being held, up to Burst − 1
	Max       int64         // slots: how many may be held at once by one owner
	Lease     time.Duration // slots: how long a holder may stay silent before its slot is taken back

	// ChargeAfter marks limits whose true cost is known when the request
	// ends: a Result's cost settles them.
	ChargeAfter bool

	ID          uint64 // of the name; tells the limits of one owner apart
	Fingerprint uint64 // of all that decides; differs when a limit was changed

	GCRA    limit.GCRA          // when the algorithm is TokenBucket
	Window  limit.FixedWindow   // when the algorithm is FixedWindow
	Sliding limit.SlidingWindow // when the algorithm is SlidingWindow
	Log     limit.SlidingLog    // when the algorithm is SlidingLog
	Strict  limit.StrictWindow  // when the algorithm is StrictWindow
	Leaky   limit.LeakyBucket   // when the algorithm is LeakyBucket
}

// NewTokens prepares a limit on tokens.
//
// Of a token bucket, a burst of 0 means the rate's count. A leaky bucket lets
// burst requests through beside the first, 0 or more, and holds none of them;
// NewLeaky makes one that does. The others ignore it: their Burst is the rate's
// count.
func NewTokens(name string, a Algorithm, r limit.Rate, burst int64) (*Limit, error) {
	l := &Limit{Name: name, Kind: Tokens, Algorithm: a, Rate: r, Burst: r.Count}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if r.Count == 0 {
		return nil, errors.New("store: a limit of nothing needs no store")
	}
	var err error
	switch a {
	case TokenBucket:
		if burst != 0 {
			l.Burst = burst
		}
		l.GCRA, err = limit.NewGCRA(r, l.Burst)
	case FixedWindow:
		l.Window = limit.FixedWindow{Limit: r.Count, Window: r.Period}
	case SlidingWindow:
		l.Sliding = limit.SlidingWindow{Limit: r.Count, Window: r.Period}
		if r.Count > math.MaxInt32 {
			err = fmt.Errorf("store: a sliding window counts up to %d, got %s; use a token bucket", math.MaxInt32, r)
		}
	case SlidingLog:
		l.Log, err = limit.NewSlidingLog(r)
	case StrictWindow:
		l.Strict, err = limit.NewStrictWindow(r, strictParts)
	case LeakyBucket:
		l.Burst, l.Delay = burst+1, burst
		l.Leaky, err = limit.NewLeakyBucket(r, burst, burst)
	default:
		err = fmt.Errorf("store: unknown algorithm %d", a)
	}
	return l.identify(), err
}

// NewLeaky prepares a leaky bucket that lets burst requests through beside the
// first, and holds those beyond delay, 0 … burst, until they have leaked: how
// long is in their grants. It is NGINX's limit_req with burst and delay; delay
// = burst is its nodelay.
func NewLeaky(name string, r limit.Rate, burst, delay int64) (*Limit, error) {
	l, err := NewTokens(name, LeakyBucket, r, burst)
	if err != nil {
		return nil, err
	}
	if l.Leaky, err = limit.NewLeakyBucket(r, burst, delay); err != nil {
		return nil, err
	}
	l.Delay = delay
	return l.identify(), nil
}

// NewQuota prepares a fixed window that begins and ends with the days, weeks or
// months of a calendar. Its rate's period is the length of an average one, for
// what is told of it.
func NewQuota(name string, count int64, c limit.Calendar) (*Limit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l, err := NewTokens(name, FixedWindow, limit.Per(count, average[c.Unit]), 0)
	if err != nil {
		return nil, err
	}
	l.Window = limit.FixedWindow{Limit: count, Calendar: c}
	return l.identify(), nil
}

var average = map[limit.Unit]time.Duration{
	limit.Day: 24 * time.Hour, limit.Week: 7 * 24 * time.Hour, limit.Month: 365 * 24 * time.Hour / 12,
}

// NewSlots prepares a limit on slots held at once.
func NewSlots(name string, maxHeld int64, lease time.Duration) (*Limit, error) {
	if maxHeld < 1 {
		return nil, fmt.Errorf("store: a limit on slots needs a maximum of 1 or more, got %d", maxHeld)
	}
	if lease < time.Second {
		return nil, fmt.Errorf("store: a slot's lease must be 1s or more, got %s", lease)
	}
	return (&Limit{Name: name, Kind: Slots, Max: maxHeld, Lease: lease}).identify(), nil
}

// Share is the limit of one worker out of n: what it may grant alone while the
// shared store cannot be asked. It is at least 1 token or slot.
func (l *Limit) Share(n int) *Limit {
	if n <= 1 {
		return l
	}
	if l.Kind == Slots {
		share := *l
		share.Max = max(1, l.Max/int64(n))
		return share.identify()
	}
	share, err := l.shareOfTokens(int64(n))
	if err != nil {
		return l // a share too slow to count: the whole limit, still bounded
	}
	share.ChargeAfter = l.ChargeAfter
	return share
}

// shareOfTokens has the nth part of a bucket's rate and burst, or of what a
// window may admit.
func (l *Limit) shareOfTokens(n int64) (*Limit, error) {
	burst := max(1, l.Burst/n)
	switch slower := limit.Per(l.Rate.Count, l.Rate.Period*time.Duration(n)); {
	case l.Window.Calendar.Unit != limit.NoUnit:
		return NewQuota(l.Name, burst, l.Window.Calendar)
	case l.Algorithm == TokenBucket:
		return NewTokens(l.Name, l.Algorithm, slower, burst)
	case l.Algorithm == LeakyBucket:
		if l.Delay == l.Burst-1 {
			return NewTokens(l.Name, l.Algorithm, slower, burst-1)
		}
		return NewLeaky(l.Name, slower, burst-1, min(l.Delay/n, burst-1))
	}
	return NewTokens(l.Name, l.Algorithm, limit.Per(burst, l.Rate.Period), 0)
}

func (l *Limit) identify() *Limit {
	h := fnv.New64a()
	h.Write([]byte(l.Name))
	h.Write([]byte{byte(l.Kind)})
	l.ID = h.Sum64()
	for _, v := range []int64{int64(l.Algorithm), l.Rate.Count, int64(l.Rate.Period), l.Burst, l.Max, int64(l.Lease)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(v)))
	}
	if l.Algorithm == LeakyBucket {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(l.Delay)))
	}
	if c := l.Window.Calendar; c.Unit != limit.NoUnit {
		h.Write([]byte(c.String()))
	}
	l.Fingerprint = h.Sum64()
	return l
}

// ValidName reports what is wrong with a limit's name: it is a label of
// metrics and headers, and part of a key.
func ValidName(name string) error {
	strange := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, strange) {
		return fmt.Errorf("store: a limit's name must be 1 to 64 letters, digits, - and _, got %q", name)
	}
	return nil
}
