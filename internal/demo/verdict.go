package demo

import (
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// What a run claims. A quiet machine does better; the slack is for machines
// that the load, the proxy and the service share with others.
const (
	criticalShare  = 0.99  // of the critical requests at the height are answered in time
	worstSecond    = 0.95  // in each single second of the height
	goodputShare   = 0.90  // of the capacity is useful work at the height
	lateShare      = 0.01  // of the answers come too late, at most
	refusedCalm    = 0.005 // of the requests are refused below the capacity, at most: bursts
	recoveredShare = 0.99  // of every class is answered in time, again, …
	recoveryTime   = 2 * time.Second
	// … after the step down.

	// Where the capacity bounds what is possible, a single second may fall
	// short of the mean by more: it holds too few queries to even out.
	cappedSecond = 0.85

	// The share of the deadline, one part in so many, that the generator may
	// be late itself, at its 99th percentile, for the figures to be beyond doubt.
	latenessDoubt = 20
)

// Claim is one thing that a run claims, and what was seen.
type Claim struct {
	What    string
	Seen    string
	Claimed string
	Held    bool
}

// Verdict is how a demonstration ended.
type Verdict struct {
	Claims []Claim
	// Doubt says why the machine may be to blame; empty when it is not.
	Doubt string
}

// Held reports whether everything that was claimed was seen.
func (v *Verdict) Held() bool {
	for _, c := range v.Claims {
		if !c.Held {
			return false
		}
	}
	return len(v.Claims) > 0
}

// judge compares an act with the stages to what is claimed of it.
func judge(a *act) *Verdict {
	v := &Verdict{}
	top := a.so(height)
	v.claim(criticalClaim(a, top))
	v.claim(goodputClaim(a, top))
	late := float64(top.all.Late) / max(float64(top.all.Admitted()), 1)
	v.claim(Claim{
		What: "late answers", Held: late <= lateShare,
		Seen: percent(late), Claimed: "≤ " + round(lateShare),
	})
	calmly := a.so(before)
	refused := float64(calmly.all.RefusedAll()+calmly.all.Failed) / max(float64(calmly.all.Offered), 1)
	v.claim(Claim{
		What: "refused at " + times(calm) + ", before", Held: refused <= refusedCalm,
		Seen:    fmt.Sprintf("%d of %s", calmly.all.RefusedAll()+calmly.all.Failed, thousands(float64(calmly.all.Offered))),
		Claimed: "≤ " + round(refusedCalm),
	})
	v.claim(recoveryClaim(a))
	if late := a.report.Lateness(0.99); late > a.plan.Deadline/latenessDoubt {
		v.Doubt = fmt.Sprintf("This machine was busy: the load generator itself was %v late (p99). Figures may be worse than the stages are.", late.Round(time.Millisecond))
	}
	return v
}

func (v *Verdict) claim(c Claim) { v.Claims = append(v.Claims, c) }

// criticalClaim holds where the critical traffic alone is above the capacity,
// too: then as much of it as the capacity allows is claimed.
func criticalClaim(a *act, top *tally) Claim {
	critical := top.class(priority.Critical)
	possible := min(1, goodputShare*a.plan.Base/max(top.rate(critical.Offered), 1))
	worst := 1.0
	from, to := a.report.Phase(height)
	for i := from; i < min(to, a.judged()); i++ {
		worst = min(worst, a.of(i, i+1).class(priority.Critical).GoodShare())
	}
	share := min(criticalShare, possible)
	inWorst := worstSecond
	if share < criticalShare {
		inWorst = cappedSecond * share
	}
	return Claim{
		What:    "critical in time",
		Seen:    fmt.Sprintf("%s, worst second %s", percent(critical.GoodShare()), percent(worst)),
		Claimed: fmt.Sprintf("≥ %s, ≥ %s", round(share), round(inWorst)),
		Held:    critical.GoodShare() >= share && worst >= inWorst,
	}
}

func goodputClaim(a *act, top *tally) Claim {
	return Claim{
		What:    "useful answers",
		Seen:    fmt.Sprintf("%s/s, %s of capacity", thousands(top.rate(top.all.Good)), percent(top.rate(top.all.Good)/a.plan.Base)),
		Claimed: "≥ " + round(goodputShare),
		Held:    top.rate(top.all.Good) >= goodputShare*a.plan.Base,
	}
}

func recoveryClaim(a *act) Claim {
	took, ok := recovery(a)
	seen := "not within " + seconds(a.plan.Phases[after].Duration)
	if ok {
		seen = "after " + seconds(took)
	}
	return Claim{
		What: "all classes back to 99%", Held: ok && took <= recoveryTime,
		Seen: seen, Claimed: "≤ " + seconds(recoveryTime),
	}
}

// recovery is how long after the step down every class is answered in time
// again, to the end of the run.
func recovery(a *act) (took time.Duration, ok bool) {
	from, to := a.report.Phase(after)
	for i := from; i < to; i++ {
		if recovered(a.of(i, to)) {
			return took, true
		}
		took += a.report.Seconds()[i].Width
	}
	return took, false
}

func recovered(t *tally) bool {
	for i := range t.classes {
		if t.classes[i].GoodShare() < recoveredShare {
			return false
		}
	}
	return true
}
