package sim

import (
	"math"

	"github.com/plimsoll-go/plimsoll/priority"
)

// measure is a figure of some seconds.
type measure struct {
	unit string
	of   func([]Second, *Report) float64
	help string
}

// measures are those that may be expected, by name.
var measures = map[string]measure{
	"critical": {"%", shareOf(priority.Critical), "of what was offered and reached a worker, the share that was answered in time"},
	"high":     {"%", shareOf(priority.High), "the same"},
	"normal":   {"%", shareOf(priority.Normal), "the same"},
	"low":      {"%", shareOf(priority.Low), "the same"},
	"all":      {"%", shareOf(priority.All[:]...), "the same, of all classes, without the abuser"},
	"abuser":   {"%", func(s []Second, _ *Report) float64 { return share(sumOf(s).abuser) }, "the same, of the abuser"},
	"goodput":  {"%", goodput, "answers in time, of what all workers that run can do"},
	"late":     {"%", lateShare, "answers that were too late, of those in time"},
	"refused":  {"", func(s []Second, _ *Report) float64 { return float64(sumOf(s).all.Refused) }, "requests"},
	"lost":     {"", func(s []Second, _ *Report) float64 { return float64(sumOf(s).all.Lost) }, "requests that were sent to a worker that did not run, or went down with it"},
	"admitted": {"", func(s []Second, _ *Report) float64 { return float64(sumOf(s).all.Admitted) }, "requests"},
	"turns":    {"", turns, "changes of direction of the level"},
	"level":    {"", func(s []Second, _ *Report) float64 { return highest(s, func(s *Second) float64 { return s.Level }) }, "the highest"},
	"above":    {"", func(s []Second, _ *Report) float64 { return total(s, func(s *Second) float64 { return s.Over }) }, "request-seconds of non-critical work above what the reserve leaves"},
	"waited": {"", func(s []Second, _ *Report) float64 {
		return total(s, func(s *Second) float64 { return float64(s.Waited) })
	}, "decisions that waited for the store as long as they may"},
	"lent": {"", func(s []Second, _ *Report) float64 {
		return total(s, func(s *Second) float64 { return float64(s.Lent) })
	}, "loans of tokens that the store made"},
	"lease": {"", func(s []Second, _ *Report) float64 { return highest(s, func(s *Second) float64 { return s.Lease }) }, "the highest sum of the leases in use"},
	"known": {"%", known, "the fleet's capacity, as the middle one of its workers has heard it, of what it is; the least of a second"},
	"unleased": {"", func(s []Second, _ *Report) float64 {
		return total(s, func(s *Second) float64 { return btof(s.Lease == 0) })
	}, "seconds at whose end no worker goes by a lease"},
	"cut-off": {"", func(s []Second, _ *Report) float64 {
		return total(s, func(s *Second) float64 { return btof(s.Store == "down") })
	}, "seconds at whose end some guard holds the store for down"},
}

// known is the least of the seconds.
func known(seconds []Second, _ *Report) float64 {
	least := math.Inf(1)
	for i := range seconds {
		if s := &seconds[i]; s.Limit > 0 {
			least = min(least, 100*s.Known/float64(s.Limit))
		}
	}
	return least
}

func btof(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func shareOf(classes ...priority.Class) func([]Second, *Report) float64 {
	return func(seconds []Second, _ *Report) float64 {
		var t Tally
		for i := range seconds {
			for _, c := range classes {
				t.add(seconds[i].Class[c.Index()])
			}
		}
		return share(t)
	}
}

// share is what of a tally was answered in time, in percent; nothing of
// nothing is all.
func share(t Tally) float64 {
	if t.reached() == 0 {
		return 100
	}
	return 100 * float64(t.Good) / float64(t.reached())
}

type sums struct{ all, abuser Tally }

func sumOf(seconds []Second) (s sums) {
	for i := range seconds {
		for _, t := range seconds[i].Class {
			s.all.add(t)
		}
		s.abuser.add(seconds[i].Abuser)
	}
	return s
}

func goodput(seconds []Second, r *Report) float64 {
	served := total(seconds, func(s *Second) float64 { return float64(s.Served) })
	return 100 * served / (r.Capacity * float64(len(seconds)))
}

func lateShare(seconds []Second, _ *Report) float64 {
	s := sumOf(seconds)
	return 100 * float64(s.all.Late+s.abuser.Late) / math.Max(1, float64(s.all.Good+s.abuser.Good))
}

func highest(seconds []Second, of func(*Second) float64) (most float64) {
	for i := range seconds {
		most = max(most, of(&seconds[i]))
	}
	return most
}

func total(seconds []Second, of func(*Second) float64) (sum float64) {
	for i := range seconds {
		sum += of(&seconds[i])
	}
	return sum
}

// turns counts how often the level changes its direction.
func turns(seconds []Second, _ *Report) (n float64) {
	direction := 0.0
	for i := 1; i < len(seconds); i++ {
		step := seconds[i].Level - seconds[i-1].Level
		if step*direction < 0 {
			n++
		}
		if step != 0 {
			direction = step
		}
	}
	return n
}
