package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
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
	TokenBucket Algorithm = iota
	FixedWindow
)

var algorithms = [...]string{"token-bucket", "fixed-window"}

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
	Max       int64         // slots: how many may be held at once by one owner
	Lease     time.Duration // slots: how long a holder may stay silent before its slot is taken back

	// ChargeAfter marks limits whose true cost is known when the request
	// ends: a Result's cost settles them.
	ChargeAfter bool

	ID          uint64 // of the name; tells the limits of one owner apart
	Fingerprint uint64 // of all that decides; differs when a limit was changed

	GCRA   limit.GCRA        // when the algorithm is TokenBucket
	Window limit.FixedWindow // when the algorithm is FixedWindow
}

// NewTokens prepares a limit on tokens. A burst of 0 means the rate's count.
func NewTokens(name string, a Algorithm, r limit.Rate, burst int64) (*Limit, error) {
	l := &Limit{Name: name, Kind: Tokens, Algorithm: a, Rate: r, Burst: burst}
	if burst == 0 {
		l.Burst = r.Count
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if r.Count == 0 {
		return nil, errors.New("store: a limit of nothing needs no store")
	}
	var err error
	switch a {
	case TokenBucket:
		l.GCRA, err = limit.NewGCRA(r, l.Burst)
	case FixedWindow:
		l.Burst = r.Count
		l.Window = limit.FixedWindow{Limit: r.Count, Window: r.Period}
	default:
		err = fmt.Errorf("store: unknown algorithm %d", a)
	}
	return l.identify(), err
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
	share := *l
	share.Max = max(1, l.Max/int64(n))
	if l.Kind == Tokens {
		share.Burst = max(1, l.Burst/int64(n))
		share.Rate.Period = l.Rate.Period * time.Duration(n)
		if share.Algorithm == FixedWindow {
			share.Rate = limit.Rate{Count: max(1, l.Rate.Count/int64(n)), Period: l.Rate.Period}
		}
		prepared, err := NewTokens(l.Name, l.Algorithm, share.Rate, share.Burst)
		if err != nil {
			return l // a share too slow to count: the whole limit, still bounded
		}
		prepared.ChargeAfter = l.ChargeAfter
		return prepared
	}
	return share.identify()
}

func (l *Limit) identify() *Limit {
	h := fnv.New64a()
	h.Write([]byte(l.Name))
	h.Write([]byte{byte(l.Kind)})
	l.ID = h.Sum64()
	for _, v := range []int64{int64(l.Algorithm), l.Rate.Count, int64(l.Rate.Period), l.Burst, l.Max, int64(l.Lease)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(v)))
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
