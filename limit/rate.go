package limit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is Count tokens in each Period. The zero Rate never gives a token.
type Rate struct {
	Count  int64
	Period time.Duration
}

// Per is the rate of count tokens in each period.
func Per(count int64, period time.Duration) Rate { return Rate{count, period} }

var periods = []struct {
	name   string
	period time.Duration
}{
	{"s", time.Second}, {"sec", time.Second}, {"second", time.Second},
	{"min", time.Minute}, {"m", time.Minute}, {"minute", time.Minute},
	{"h", time.Hour}, {"hour", time.Hour},
	{"d", 24 * time.Hour}, {"day", 24 * time.Hour},
}

// ParseRate reads count/period: 100/s, 1000/min, 20/h, 5000/day, or a duration
// as the period, as in 10/30s.
func ParseRate(text string) (Rate, error) {
	count, period, ok := strings.Cut(text, "/")
	if !ok {
		return Rate{}, fmt.Errorf("limit: rate %q must be count/period, for example 100/s, 1000/min or 10/30s", text)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 63)
	if err != nil {
		return Rate{}, fmt.Errorf("limit: rate %q: the count must be a whole number from 0 to %d", text, int64(math.MaxInt64))
	}
	period = strings.TrimSpace(period)
	for _, p := range periods {
		if p.name == period {
			return Rate{int64(n), p.period}, nil
		}
	}
	d, err := time.ParseDuration(period)
	if err != nil || d <= 0 {
		return Rate{}, fmt.Errorf("limit: rate %q: the period must be s, min, h, day or a duration above 0 such as 30s", text)
	}
	return Rate{int64(n), d}, nil
}

// String renders what ParseRate reads.
func (r Rate) String() string {
	for _, p := range periods {
		if p.period == r.Period {
			return fmt.Sprintf("%d/%s", r.Count, p.name)
		}
	}
	return fmt.Sprintf("%d/%s", r.Count, r.Period)
}

// Validate reports what no algorithm can work with.
func (r Rate) Validate() error {
	if r.Count < 0 {
		return errors.New("limit: a rate's count must be 0 or more")
	}
	if r.Count > 0 && r.Period <= 0 {
		return errors.New("limit: a rate's period must be above 0")
	}
	return nil
}

// Result is an algorithm's answer.
type Result struct {
	OK         bool          // the cost was taken
	Remaining  int64         // tokens that could be taken now, after this answer
	RetryAfter time.Duration // until this cost could pass if nobody else asks; Never when it cannot, 0 when it did
	ResetAfter time.Duration // until the limit is as if it had never been used
	Delay      time.Duration // how long what was taken should be held before it goes on; only leaky buckets say so
}

// Never is the RetryAfter of a cost that no waiting helps.
const Never time.Duration = -1
