package store

import "time"

// DeniedAny answers from memory whether one of several claims would be refused
// now, and which of them has to wait longest: waiting that out is worth a try,
// waiting out another is not.
func (g *Guard) DeniedAny(claims []Claim, now int64) (i int, grant Grant, denied bool) {
	for j := range claims {
		c := &claims[j]
		known, refused := g.Denied(c.Owner, c.Limit, c.Cost, now)
		if refused && (!denied || longer(known.RetryAfter, grant.RetryAfter)) {
			i, grant, denied = j, known, true
		}
	}
	return i, grant, denied
}

// longer compares waits; Never is the longest.
func longer(a, b time.Duration) bool { return a == Never || b != Never && a > b }
