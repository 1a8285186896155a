package store

import "time"

// DeniedAny answers from memory whether one of several claims would be refused
// now, and which of them has to wait longest: waiting that out is worth a try,
// waiting out another is not. The refusal is written to grant. It costs a
// nanosecond while nothing is denied.
func (g *Guard) DeniedAny(claims []Claim, now int64, grant *Grant) (i int, denied bool) {
	if g.denials.none(now) {
		return 0, false
	}
	return g.denials.any(claims, now, grant)
}

func (d *denials) any(claims []Claim, now int64, grant *Grant) (i int, denied bool) {
	var known Grant
	for j := range claims {
		c := &claims[j]
		if !d.answers(c.Owner, c.Limit, c.Cost, now, &known) {
			continue
		}
		if !denied || longer(known.RetryAfter, grant.RetryAfter) {
			i, denied, *grant = j, true, known
		}
	}
	return i, denied
}

// longer compares waits; Never is the longest.
func longer(a, b time.Duration) bool { return a == Never || b != Never && a > b }
