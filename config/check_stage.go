package config

import (
	"fmt"
	"net/http"

	"github.com/plimsoll-go/plimsoll/priority"
)

// stages checks the list of stages and each of them.
func (c *checker) stages() {
	names, kinds := map[string]int{}, map[Kind]int{}
	limits := limitNames{c: c, tokens: map[string]string{}, slots: map[string]string{}}
	for i := range c.Stages {
		s := &c.Stages[i]
		path := fmt.Sprintf("stages[%d]", i)
		if first, taken := names[s.Label()]; taken && s.Label() != "" {
			c.fault(path+".name", fmt.Sprintf("%q is the name of stages[%d] already; give one of them another name", s.Label(), first))
		} else {
			names[s.Label()] = i
		}
		c.single(s, i, kinds)
		if part := s.part(); part != s.Kind && !c.doubtful(path+".stage") {
			c.fault(path, fmt.Sprintf("must hold the settings of %s, and no others", s.Kind))
		}
		c.status(s, i, path)
		c.settings(s, path, &limits)
	}
}

// settings checks the part of a stage that belongs to its kind.
func (c *checker) settings(s *Stage, path string, limits *limitNames) {
	switch {
	case s.RateLimit != nil:
		c.rateLimits(s.RateLimit, path, limits)
	case s.Concurrency != nil:
		c.concurrencyLimits(s.Concurrency, path, limits)
	case s.FleetShed != nil:
		c.fleetShed(s.FleetShed, path)
	case s.WorkerShed != nil:
		c.workerShed(s.WorkerShed, path)
	}
}

// status checks the status of refusals, which the stages of a kind share.
func (c *checker) status(s *Stage, i int, path string) {
	if s.Status != 0 && s.Status != http.StatusTooManyRequests && s.Status != http.StatusServiceUnavailable {
		c.fault(path+".status", allowed(fmt.Sprintf("%d is no status of a refusal", s.Status), "429, 503"))
		return
	}
	for j := range c.Stages[:i] {
		if other := &c.Stages[j]; s.Status != 0 && other.Kind == s.Kind && other.Status != s.Status {
			c.fault(path+".status", fmt.Sprintf("is for every %s, and stages[%d] has another", s.Kind, j))
			return
		}
	}
}

// part is the kind that the parts of a stage belong to; "" unless it is one.
func (s *Stage) part() (kind Kind) {
	for k, there := range map[Kind]bool{
		RateLimit: s.RateLimit != nil, Concurrency: s.Concurrency != nil,
		FleetShed: s.FleetShed != nil, WorkerShed: s.WorkerShed != nil,
	} {
		switch {
		case there && kind != "":
			return ""
		case there:
			kind = k
		}
	}
	return kind
}

// single checks the stages of which a list holds one at most, and their place.
func (c *checker) single(s *Stage, i int, kinds map[Kind]int) {
	path := fmt.Sprintf("stages[%d]", i)
	if s.Kind != FleetShed && s.Kind != WorkerShed {
		return
	}
	if first, twice := kinds[s.Kind]; twice {
		c.fault(path+".stage", fmt.Sprintf("%s is there already, stages[%d]; a list holds one", s.Kind, first))
		return
	}
	kinds[s.Kind] = i
	if s.Kind == WorkerShed && i != len(c.Stages)-1 {
		c.fault(path+".stage", fmt.Sprintf("workershed may let requests wait and must be the last stage: "+
			"stages[%d] after it would be held up", i+1))
	}
}

func (c *checker) fleetShed(s *FleetShedStage, path string) {
	c.nested(path+".class_caps", s.ClassCaps.Low, s.ClassCaps.Normal, s.ClassCaps.High)
}

func (c *checker) workerShed(s *WorkerShedStage, path string) {
	c.nested(path+".shares", s.Shares.Low, s.Shares.Normal, s.Shares.High)
	if s.RampUp != 0 && s.RampDown != 0 && s.RampDown < s.RampUp && !c.doubtful(path+".ramp_up") {
		c.fault(path+".ramp_down", fmt.Sprintf("%v is less than ramp_up (%v): what was shed would come back before the worker has recovered", s.RampDown, s.RampUp))
	}
}

// nested checks that no class has less room than one below it; shares are by
// class, low first.
func (c *checker) nested(path string, shares ...float64) {
	if c.doubtful(path) {
		return
	}
	for i := 1; i < len(shares); i++ {
		if shares[i] < shares[i-1] {
			c.fault(path+"."+priority.FromIndex(i).String(), fmt.Sprintf("%g is less than what %s has, %g; a more critical class needs as much or more",
				shares[i], priority.FromIndex(i-1), shares[i-1]))
		}
	}
}
