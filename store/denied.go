package store

import "time"

// Remembers reports whether there is any refusal to remember at a moment: the
// first question of every look, and mostly the last.
func (g *Guard) Remembers(now int64) bool { return !g.denials.none(now) }

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
	var another Grant
	to := grant
	for j := range claims {
		c := &claims[j]
		switch {
		case !d.answers(c.Owner, c.Limit, c.Cost, now, to):
		case !denied:
			i, denied, to = j, true, &another
		case longer(another.RetryAfter, grant.RetryAfter):
			i, *grant = j, another
		}
	}
	return i, denied
}

// longer compares waits; Never is the longest.
func longer(a, b time.Duration) bool { return a == Never || b != Never && a > b }
