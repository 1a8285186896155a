package config

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone means the same on every machine, and in a container without zones

	"github.com/plimsoll-go/plimsoll/limit"
)

// Quota is how many tokens there are in each part of the calendar. The zero
// value is none.
type Quota struct {
	Count int64
	Unit  limit.Unit
}

// String is count/day, count/week or count/month.
func (q Quota) String() string { return fmt.Sprintf("%d/%s", q.Count, q.Unit) }

func parseQuota(text string) (any, error) {
	count, unit, ok := strings.Cut(text, "/")
	if !ok {
		return nil, fmt.Errorf("a quota needs its part of the calendar, got %q", text)
	}
	u, err := limit.ParseUnit(unit)
	if err != nil {
		return nil, fmt.Errorf("%q is not a quota", text)
	}
	r, err := parseRate(count + "/day") // a count is a count
	if err != nil {
		return nil, fmt.Errorf("quota %q: the count must be a plain whole number from 0", text)
	}
	return Quota{r.(limit.Rate).Count, u}, nil
}

// Zone is the name of a time zone of the IANA's list. The zero value is UTC.
type Zone string

// Location is what the zone is to package time.
func (z Zone) Location() *time.Location {
	if place, err := time.LoadLocation(string(z)); err == nil && z != "" {
		return place
	}
	return time.UTC // nothing else passes Validate
}

func parseZone(text string) (any, error) {
	if text == "" || strings.EqualFold(text, "local") {
		return nil, fmt.Errorf("%q is not the same place everywhere; name the zone", text)
	}
	if _, err := time.LoadLocation(text); err != nil {
		return nil, fmt.Errorf("unknown time zone %q", text)
	}
	return Zone(text), nil
}

// calendar is what a limit's quota is counted by; none without a quota.
func (l *RateLimitEntry) calendar() limit.Calendar {
	if l.Quota.Unit == limit.NoUnit {
		return limit.Calendar{}
	}
	return limit.Calendar{Unit: l.Quota.Unit, Zone: l.Zone.Location()}
}

// rate is the limit's rate, or of a quota its count.
func (l *RateLimitEntry) rate() limit.Rate {
	if l.Quota != (Quota{}) {
		return l.Quota.rate()
	}
	return l.Rate
}

// rate has the quota's count; its period counts for nothing.
func (q Quota) rate() limit.Rate { return limit.Per(q.Count, 24*time.Hour) }
