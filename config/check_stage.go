package config

import "fmt"

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
		switch {
		case s.RateLimit != nil:
			c.rateLimits(s.RateLimit, path, &limits)
		case s.Concurrency != nil:
			c.concurrencyLimits(s.Concurrency, path, &limits)
		case s.FleetShed != nil:
			c.fleetShed(s.FleetShed, path)
		case s.WorkerShed != nil:
			c.workerShed(s.WorkerShed, path)
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
	caps := []float64{s.ClassCaps.Low, s.ClassCaps.Normal, s.ClassCaps.High}
	c.nested(path+".class_caps", []string{"low", "normal", "high"}, caps)
}

func (c *checker) workerShed(s *WorkerShedStage, path string) {
	shares := []float64{s.Shares.Low, s.Shares.Normal, s.Shares.High, s.Shares.Critical}
	c.nested(path+".shares", []string{"low", "normal", "high", "critical"}, shares)
}

// nested checks that no class has less room than one below it; 0 is not set.
func (c *checker) nested(path string, classes []string, shares []float64) {
	if c.doubtful(path) {
		return
	}
	below := 0
	for i := 1; i < len(shares); i++ {
		if shares[below] == 0 {
			below = i
			continue
		}
		if shares[i] == 0 {
			continue
		}
		if shares[i] < shares[below] {
			c.fault(path+"."+classes[i], fmt.Sprintf("%g is less than what %s has, %g; a more critical class needs as much or more",
				shares[i], classes[below], shares[below]))
		}
		below = i
	}
}
