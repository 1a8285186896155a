package faults

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// Result is what was seen in one run of a row.
type Result struct {
	Row                  *Row
	Shape                Shape
	Began, Broke, Healed time.Time     // the phases; Began is when the load was steady
	Stats                store.Stats   // of the guard, at the end
	SlotsHeld            int64         // by callers that have left
	SlotsFree            time.Duration // until the last of them was free, after the load ended

	shots                          []*shot
	late                           []time.Duration
	charges                        map[*shot]int64
	changes                        []Change
	peak                           int64
	connections, connectionsBefore []seen
}

// Errors lists the promises that were broken; none depends on how fast the
// machine is.
func (r *Result) Errors() error {
	errs := []error{r.policies(), r.chargedOnce(), r.bounded(), r.effect()}
	if r.SlotsHeld != 0 {
		errs = append(errs, fmt.Errorf("%d slots are held by callers that have left", r.SlotsHeld))
	}
	return errors.Join(errs...)
}

// policies holds every decision to what its policy says.
func (r *Result) policies() error {
	for _, s := range r.shots {
		if s.kind == greedy && s.decision.Reason == pipeline.RateLimited {
			continue
		}
		want := pipeline.Decision{}
		if s.fellBack && policies[s.policy] == pipeline.Closed {
			want = pipeline.Refuse(pipeline.StoreUnavailable)
		}
		if s.decision.Verdict != want.Verdict || s.decision.Reason != want.Reason {
			return fmt.Errorf("a request on %s, fell back %v: decided %d %q", s.request.Path, s.fellBack, s.decision.Verdict, s.decision.Reason)
		}
	}
	return nil
}

// chargedOnce holds what each caller was charged to what the store granted it.
func (r *Result) chargedOnce() error {
	ghosts := uint64(0)
	for s, n := range r.charges {
		switch {
		case n > 1:
			return fmt.Errorf("%s was charged %d times for one request", s.request.Caller.Name, n)
		case s.fellBack:
			ghosts += uint64(n)
		case n == 0 && r.Row.Losses == 0:
			return fmt.Errorf("%s was granted a token, and not charged", s.request.Caller.Name)
		}
	}
	if doubtful := r.Stats.Late + r.Stats.Failed; ghosts > doubtful {
		return fmt.Errorf("%d charges for nothing, and only %d calls whose end is not known", ghosts, doubtful)
	}
	return nil
}

// Ghosts is how many requests were charged although the store's answer never
// came; each was charged once.
func (r *Result) Ghosts() (n int64) {
	for s, charged := range r.charges {
		if s.fellBack {
			n += charged
		}
	}
	return n
}

// bounded holds the greedy callers to the formula: B + R·W, and B more for each
// loss; and those that fell back to this worker's share, to B + R·D of its own.
func (r *Result) bounded() error {
	may := mayOf(r.Shape.Rate)
	for i, p := range policies {
		byStore, byShare := r.span(i, false), r.span(i, true)
		most := int64(1+r.Row.Losses)*may.burst + may.tokens(byStore.time)
		if byStore.admitted > most {
			return fmt.Errorf("the store admitted %d of a greedy caller in %s, bound %d", byStore.admitted, byStore.time, most)
		}
		most = may.burst + may.tokens(byShare.time)
		if p != pipeline.Open && byShare.admitted > most {
			return fmt.Errorf("%s: the share admitted %d of a greedy caller in %s, bound %d", p, byShare.admitted, byShare.time, most)
		}
	}
	return nil
}

// tokens is R·W, rounded up.
func (m may) tokens(d time.Duration) int64 { return int64(math.Ceil(d.Seconds() * float64(m.rate))) }

// span is what was admitted of a greedy caller, and over how long.
type span struct {
	admitted int64
	time     time.Duration
}

func (r *Result) span(policy int, fellBack bool) (out span) {
	var first, last time.Time
	for _, s := range r.shots {
		if s.kind != greedy || s.policy != policy || s.fellBack != fellBack || !s.admitted() {
			continue
		}
		if out.admitted++; first.IsZero() {
			first = s.sent
		}
		if end := s.sent.Add(s.took); end.After(last) {
			last = end
		}
	}
	out.time = last.Sub(first)
	return out
}

// effect holds the guard to what it must make of the fault.
func (r *Result) effect() error {
	down := slices.ContainsFunc(r.changes, func(c Change) bool { return c.State == store.Down })
	switch {
	case r.Row.Effect == Opens && !down:
		return fmt.Errorf("the store was never down: %v", r.changes)
	case r.Row.Effect == Opens && r.Stats.Failed+r.Stats.Late >= r.Stats.Skipped:
		return fmt.Errorf("a store that is down was asked: %+v", r.Stats)
	}
	return nil
}

// Spared reports whether nobody fell back but the callers that were spoiled. On
// a busy machine it needs a budget that no healthy call exceeds.
func (r *Result) Spared() error {
	if err := r.NeverDown(); err != nil {
		return err
	}
	for _, c := range r.changes {
		if c.At.After(r.Broke) {
			return fmt.Errorf("the store was thought %s: %s", c.State, c.Cause)
		}
	}
	for _, s := range r.shots {
		if s.fellBack && s.kind != spoiled {
			return fmt.Errorf("%s was not decided by the store: %v", s.request.Caller.Name, r.changes)
		}
	}
	return nil
}

// NeverDown reports whether the store was asked all the time.
func (r *Result) NeverDown() error {
	if r.Stats.Skipped > 0 {
		return fmt.Errorf("%d calls were not made because the store was thought down: %v", r.Stats.Skipped, r.changes)
	}
	return nil
}

// Latency is how long decisions took while the store was broken, from the
// moment a request was sent, at a share of them.
func (r *Result) Latency(share float64) time.Duration {
	var list []time.Duration
	for _, s := range r.shots {
		if s.sent.After(r.Broke) && s.sent.Before(r.Healed) {
			list = append(list, s.took)
		}
	}
	return at(list, share)
}

// Lateness is how far behind its schedule the load was, at a share of requests.
func (r *Result) Lateness(share float64) time.Duration { return at(r.late, share) }

func at(list []time.Duration, share float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list[min(len(list)-1, int(math.Ceil(share*float64(len(list))))-1)]
}

// Normal is how long after healing the store decided fifty requests in a row,
// the first of them counted, or the state became ok, whichever was later.
func (r *Result) Normal() time.Duration {
	begun := r.Healed
	if r.Row.FromBreak {
		begun = r.Broke
	}
	normal := r.firstOf(enough)
	for _, c := range r.changes {
		if c.State == store.OK && c.At.After(r.Healed) {
			normal = later(normal, c.At)
			break
		}
	}
	if r.Row.Effect != Opens && normal.Sub(r.Healed) < 10*time.Millisecond {
		return 0 // the next request that was sent
	}
	return max(0, normal.Sub(begun))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// firstOf is when the first of so many requests in a row was sent that the
// store decided after it was healed.
func (r *Result) firstOf(most int) (first time.Time) {
	n := 0
	for _, s := range r.shots {
		switch {
		case s.sent.Before(r.Healed) || s.kind == spoiled:
		case s.fellBack:
			n = 0
		default:
			if n++; n == 1 {
				first = s.sent
			}
			if n == most {
				return first
			}
		}
	}
	return first
}

// FellBack is how many of how many requests between two moments the store did
// not decide.
func (r *Result) FellBack(from, to time.Time) (n, of int) {
	for _, s := range r.shots {
		if s.kind == spoiled || s.sent.Before(from) || s.sent.After(to) {
			continue
		}
		of++
		if s.fellBack {
			n++
		}
	}
	return n, of
}

// Goroutines is how many more there were at most since the break than before.
func (r *Result) Goroutines() int64 { return r.peak }
