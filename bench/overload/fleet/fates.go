package fleet

import (
	"sync"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// fates are what became of attempts, by step and by the worker that had them:
// what the answers do not tell.
type fates struct {
	mu    sync.Mutex
	steps []fate
}

// fate counts the attempts of a step. An arrival whose connection failed has
// two.
type fate struct {
	WentDown int // critical: with a worker that was killed or frozen while it had them
	SentDown int // critical: sent to one that was down, which the balancer did not know yet
	Late     int // critical: not answered in time by a worker that ran
	Slow     counts
	Fast     counts
}

// counts are the attempts on the workers of one speed.
type counts struct {
	All, Good, Critical, CriticalGood, ByFleet, ByWorker int
}

func (f *fates) note(a load.Arrival, m *member, ran bool, answer load.Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.steps) <= a.Phase {
		f.steps = append(f.steps, fate{})
	}
	step := &f.steps[a.Phase]
	critical, good := a.Class == priority.Critical, answer.Outcome == load.Served
	switch {
	case !critical || good || answer.Outcome == load.Refused:
	case !ran:
		step.SentDown++
	case !m.running.Load():
		step.WentDown++
	default:
		step.Late++
	}
	of := &step.Fast
	if m.slow {
		of = &step.Slow
	}
	of.add(answer, critical, good)
}

func (c *counts) add(answer load.Answer, critical, good bool) {
	c.All++
	if good {
		c.Good++
	}
	if critical {
		c.Critical++
		if good {
			c.CriticalGood++
		}
	}
	switch answer.Refusal.Stage {
	case "fleetshed":
		c.ByFleet++
	case "workershed":
		c.ByWorker++
	}
}

// of is the fate of a step.
func (f *fates) of(step int) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if step >= len(f.steps) {
		return fate{}
	}
	return f.steps[step]
}
