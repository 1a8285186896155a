package fleet

import "time"

// A heartbeat reads the fleet's figures and replaces them, and begins anew when
// another worker came between: workers together get no more than one through
// in the time that one takes. While the store is slow they therefore beat less
// often, and their leases, which last three of their beats, last longer.
const (
	pacePerAnswer = 4 // beats are this many times as long as the answer took
	slowestPace   = 4 // but no longer than this many of the usual
)

// answered is the pace after an answer that took some time.
func (c *Config) answered(took time.Duration) time.Duration {
	return min(max(pacePerAnswer*took, c.Beat), slowestPace*c.Beat)
}

// unanswered is the pace after a beat of a pace that had no answer for some
// time. One that failed at once says nothing of how slow the store is.
func (c *Config) unanswered(pace, after time.Duration) time.Duration {
	if after < pace {
		return pace
	}
	return min(2*pace, slowestPace*c.Beat)
}
