package limit

import (
	"fmt"
	"math"
	"time"
)

// Calendar cuts time into days, weeks or months as the people of a place count
// them: a day has 23 to 25 hours where the clocks are changed, a week begins
// on Monday, a month has 28 to 31 days.
type Calendar struct {
	Unit Unit
	Zone *time.Location // nil is UTC
}

// Unit is a part of the calendar. The zero value is none.
type Unit uint8

// The units.
const (
	NoUnit Unit = iota
	Day
	Week
	Month
)

var unitNames = [...]string{"none", "day", "week", "month"}

// String is none, day, week or month.
func (u Unit) String() string { return unitNames[u] }

// ParseUnit reads day, week or month.
func ParseUnit(word string) (Unit, error) {
	for u := Day; u <= Month; u++ {
		if u.String() == word {
			return u, nil
		}
	}
	return NoUnit, fmt.Errorf("limit: a calendar's unit must be day, week or month, got %q", word)
}

// Validate reports what is no calendar.
func (c Calendar) Validate() error {
	if c.Unit < Day || c.Unit > Month {
		return fmt.Errorf("limit: a calendar's unit must be day, week or month, got %d", c.Unit)
	}
	return nil
}

// String is the unit and the zone.
func (c Calendar) String() string { return c.Unit.String() + " in " + c.zone().String() }

// Around is the span of the calendar that a moment is in: from its first
// nanosecond to the first of the next one.
func (c Calendar) Around(now int64) (start, end int64) {
	year, month, day := time.Unix(0, now).In(c.zone()).Date()
	switch c.Unit {
	case Month:
		day = 1
	case Week:
		day -= (int(time.Date(year, month, day, 12, 0, 0, 0, time.UTC).Weekday()) + 6) % 7 // days since Monday
	case NoUnit, Day:
	}
	start, end = c.begin(year, month, day), c.next(year, month, day)
	// Where the clocks are set back over midnight a date comes twice; its
	// first hour then belongs to the span that began, or will begin, last.
	switch {
	case now < start:
		return c.before(year, month, day), start
	case now >= end:
		return end, c.after(year, month, day)
	}
	return start, end
}

func (c Calendar) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

func (c Calendar) next(year int, month time.Month, day int) int64 {
	if c.Unit == Month {
		return c.begin(year, month+1, 1)
	}
	return c.begin(year, month, day+c.days())
}

func (c Calendar) after(year int, month time.Month, day int) int64 {
	if c.Unit == Month {
		return c.begin(year, month+2, 1)
	}
	return c.begin(year, month, day+2*c.days())
}

func (c Calendar) before(year int, month time.Month, day int) int64 {
	if c.Unit == Month {
		return c.begin(year, month-1, 1)
	}
	return c.begin(year, month, day-c.days())
}

func (c Calendar) days() int {
	if c.Unit == Week {
		return 7
	}
	return 1
}

// begin is the first moment of a date. Where the clocks skip midnight, that is
// when they skip it; where it comes twice, the first time.
func (c Calendar) begin(year int, month time.Month, day int) int64 {
	t := time.Date(year, month, day, 0, 0, 0, 0, c.zone())
	if hour, minute, second := t.Clock(); hour >= 12 { // still the day before
		t = t.Add(24*time.Hour - time.Duration(hour)*time.Hour - time.Duration(minute)*time.Minute - time.Duration(second)*time.Second)
	} else if since, _ := t.ZoneBounds(); !since.IsZero() {
		_, later := t.Zone()
		_, earlier := since.Add(-1).Zone()
		if first := t.Add(time.Duration(later-earlier) * time.Second); first.Before(since) && first.Day() == t.Day() {
			t = first
		}
	}
	return nanoseconds(t)
}

// nanoseconds is a moment in nanoseconds since the epoch, saturating.
func nanoseconds(t time.Time) int64 {
	if t.Unix() >= math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return t.UnixNano()
}
