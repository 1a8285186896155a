package demo

import (
	"fmt"
	"time"
)

// What the demonstration of a fleet claims. A quiet machine does better.
const (
	noticed = 1500 * time.Millisecond // until every worker knows that Redis is gone
	normal  = 3 * time.Second         // until every worker counts in Redis again
	slack   = 5 * time.Millisecond    // that the machine may add to the median
)

// judge compares what was seen with what is claimed.
func (s *fleetShow) judge() *Verdict {
	v := &Verdict{}
	v.claim(Claim{
		What: "one limit for all workers", Seen: fmt.Sprintf("%d of %d admitted", s.admitted, asked),
		Claimed: fmt.Sprintf("exactly %d", sharedLimit), Held: s.admitted == sharedLimit,
	})
	failed, requests := 0, 0
	for _, p := range s.spells {
		failed, requests = failed+p.failed, requests+p.all()
	}
	v.claim(Claim{What: "requests that failed", Seen: fmt.Sprintf("%d of %d", failed, requests), Claimed: "0", Held: failed == 0 && requests > 0})
	for _, p := range s.spells[1:] {
		v.claim(p.known())
	}
	v.claim(s.medians())
	v.claim(s.kept())
	if s.spells[0].fallbacks > 0 {
		v.Doubt = fmt.Sprintf("This machine was busy. Decisions that came too late while nothing was wrong with Redis: %d.", s.spells[0].fallbacks)
	}
	return v
}

// known claims that a change of Redis is soon known to every worker.
func (s *spell) known() Claim {
	c := Claim{What: s.name + ": known", Seen: "not by all", Claimed: "≤ " + normal.String()}
	within := normal
	if s.absent {
		within, c.Claimed = noticed, "≤ "+noticed.String()
	}
	if s.knownIn > 0 {
		c.Seen, c.Held = "after "+s.knownIn.Round(10*time.Millisecond).String(), s.knownIn <= within
	}
	return c
}

// medians claims that most requests do not feel that Redis is gone.
func (s *fleetShow) medians() Claim {
	with, worst := s.spells[0].at(0.5), time.Duration(0)
	for _, p := range s.spells {
		if p.absent {
			worst = max(worst, p.at(0.5))
		}
	}
	most := with + s.config.budget() + slack
	return Claim{
		What: "p50 without Redis", Seen: fmt.Sprintf("%s, with it %s", short(worst), short(with)),
		Claimed: "≤ " + short(most), Held: worst <= most,
	}
}

// kept claims that the limit holds without Redis: each worker goes by its third.
// A phase admits the rate, for as long as it lasted; the burst of the count that
// ends and of the one that begins; and what was lent to the workers before, which
// is half a burst at most.
func (s *fleetShow) kept() Claim {
	held, closest, most := true, 0, 0
	for _, p := range s.spells {
		bound := int(p.lasted.Seconds()*rateOfLimit) + 2*burstOfIt + burstOfIt/2
		held = held && p.admitted <= bound
		if p.admitted-bound > closest-most || most == 0 {
			closest, most = p.admitted, bound
		}
	}
	return Claim{
		What: "the limit, in each phase", Seen: fmt.Sprintf("%d admitted", closest),
		Claimed: fmt.Sprintf("≤ %d: its rate, two bursts, what was lent", most), Held: held,
	}
}

// verdict says what was claimed and what was seen.
func (s *fleetShow) verdict(v *Verdict) {
	c := s.config.Colour
	s.line("")
	s.line(c.ink(bold, "Verdict"))
	for _, claim := range v.Claims {
		mark := c.ink(green, "✓")
		if !claim.Held {
			mark = c.ink(red, "✗")
		}
		s.line("  " + mark + " " + pad(claim.What, 27) + pad(claim.Seen, 26) + c.ink(faint, "claimed "+claim.Claimed))
	}
	if v.Doubt != "" {
		s.line("")
		for _, line := range wrap(v.Doubt) {
			s.line(line)
		}
	}
}
