package limit

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestCalendarAround(t *testing.T) {
	for _, c := range []struct {
		name       string
		unit       Unit
		zone       string
		at         string
		start, end string
	}{
		{"a day", Day, "UTC", "2026-12-01T15:04:05Z", "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"},
		{"a day elsewhere", Day, "Asia/Tokyo", "2026-12-01T15:04:05Z", "2026-12-01T15:00:00Z", "2026-12-02T15:00:00Z"},
		{"its last nanosecond", Day, "UTC", "2026-12-01T23:59:59.999999999Z", "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"},
		{"a short day", Day, "Europe/Berlin", "2026-03-29T12:00:00+02:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"a long day", Day, "Europe/Berlin", "2026-10-25T12:00:00+01:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"a day without midnight", Day, "America/Sao_Paulo", "2018-11-04T12:00:00-02:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"the day before", Day, "America/Sao_Paulo", "2018-11-03T23:59:59-03:00", "2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{"a day whose last hour comes twice", Day, "America/Sao_Paulo", "2018-02-17T23:30:00-03:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"},
		{"the first time", Day, "America/Sao_Paulo", "2018-02-17T23:30:00-02:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"},
		{"a day whose first hour comes twice", Day, "America/Havana", "2026-11-01T00:30:00-04:00", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},
		{"the second time", Day, "America/Havana", "2026-11-01T00:30:00-05:00", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},
		{"a day without midnight, east", Day, "Asia/Beirut", "2026-03-29T12:00:00+03:00", "2026-03-29T01:00:00+03:00", "2026-03-30T00:00:00+03:00"},
		{"a last hour twice, east", Day, "Asia/Beirut", "2026-10-24T23:30:00+02:00", "2026-10-24T00:00:00+03:00", "2026-10-25T00:00:00+02:00"},
		{"a first hour twice, east", Day, "Asia/Amman", "2021-10-29T00:30:00+03:00", "2021-10-29T00:00:00+03:00", "2021-10-30T00:00:00+02:00"},
		{"a first hour twice, in the Atlantic", Day, "Atlantic/Azores", "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-26T00:00:00-01:00"},
		{"a day before one that never was", Day, "Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"the day after it", Day, "Pacific/Apia", "2011-12-31T12:00:00+14:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
		{"a week begins on Monday", Week, "UTC", "2026-12-01T15:00:00Z", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"},
		{"and ends on Sunday", Week, "UTC", "2026-12-06T23:59:59Z", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"},
		{"over the new year", Week, "UTC", "2027-01-01T00:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		{"a month of 31 days", Month, "UTC", "2026-12-31T23:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"of 28", Month, "UTC", "2026-02-28T23:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		{"of 29", Month, "UTC", "2028-02-29T23:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"the last day of a month, elsewhere", Month, "America/New_York", "2026-04-01T02:00:00Z", "2026-03-01T00:00:00-05:00", "2026-04-01T00:00:00-04:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start, end := Calendar{c.unit, zone(t, c.zone)}.Around(parse(t, c.at))
			if start != parse(t, c.start) || end != parse(t, c.end) {
				z := zone(t, c.zone)
				t.Errorf("%s in %s at %s: from %s to %s", c.unit, c.zone, c.at, time.Unix(0, start).In(z), time.Unix(0, end).In(z))
			}
		})
	}
}

func parse(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixNano()
}

// In any zone, at any time, the spans follow each other without a gap.
func TestCalendarHasNoGaps(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"}
	rapid.Check(t, func(t *rapid.T) {
		c := Calendar{rapid.SampledFrom([]Unit{Day, Week, Month}).Draw(t, "unit"), zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))}
		now := rapid.Int64Range(0, int64(80*365*24*time.Hour)).Draw(t, "now")
		start, end := c.Around(now)
		if start > now || now >= end {
			t.Fatalf("%s: %d is not between %d and %d", c, now, start, end)
		}
		longest := map[Unit]time.Duration{Day: 26 * time.Hour, Week: 170 * time.Hour, Month: 746 * time.Hour}[c.Unit]
		if length := time.Duration(end - start); length > longest && c.Zone.String() != "Pacific/Apia" {
			t.Fatalf("%s: a length of %s", c, length)
		}
		for _, at := range []int64{start, end - 1, now} {
			if s, e := c.Around(at); s != start || e != end {
				t.Fatalf("%s: around %d from %d to %d, around %d from %d to %d", c, now, start, end, at, s, e)
			}
		}
		if s, _ := c.Around(end); s != end {
			t.Fatalf("%s: behind %d comes %d", c, end, s)
		}
		if _, e := c.Around(start - 1); e != start {
			t.Fatalf("%s: before %d comes %d", c, start, e)
		}
	})
}

// A month's quota that was used up on the 1st opens again on the next 1st, not
// 30 days later; what a caller is told to wait for is that.
func TestCalendarWindow(t *testing.T) {
	f := FixedWindow{Limit: 1000, Calendar: Calendar{Month, zone(t, "Europe/Berlin")}}
	w, r := f.Take(Window{}, parse(t, "2026-12-01T00:00:00+01:00"), 1000)
	if !r.OK || r.ResetAfter != 31*24*time.Hour {
		t.Fatalf("on the 1st: %+v", r)
	}
	for at, wait := range map[string]time.Duration{
		"2026-12-30T23:00:00Z": 24 * time.Hour, "2026-12-31T00:00:00+01:00": 24 * time.Hour, "2026-12-31T23:59:59+01:00": time.Second,
	} {
		if _, r := f.Take(w, parse(t, at), 1); r.OK || r.RetryAfter != wait || r.ResetAfter != wait {
			t.Errorf("at %s: %+v, want refused for %s", at, r, wait)
		}
	}
	if g := f.Give(w, parse(t, "2026-12-31T23:59:59+01:00"), 10); g.Used != 990 {
		t.Errorf("given back on the 31st: %+v", g)
	}
	w, r = f.Take(w, parse(t, "2027-01-01T00:00:00+01:00"), 1000)
	if !r.OK || f.Give(w, parse(t, "2026-12-31T23:59:59+01:00"), 10).Used != 1000 {
		t.Errorf("in the new year: %+v", r)
	}
}

// A stamp of half a second before a month counts in it, and waits for its end.
func TestCalendarWindowOfALateStamp(t *testing.T) {
	f := FixedWindow{Limit: 1000, Calendar: Calendar{Unit: Month}}
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	w, r := f.Take(Window{Start: march.UnixNano(), Used: 999}, march.Add(-time.Second/2).UnixNano(), 2)
	if want := 31*24*time.Hour + time.Second/2; r.OK || r.RetryAfter != want || r.ResetAfter != want || w.Used != 999 {
		t.Errorf("%+v %+v, want refused for %s", w, r, want)
	}
}

func TestCalendarFaults(t *testing.T) {
	for _, u := range []Unit{NoUnit, Month + 1, 200} {
		if (Calendar{Unit: u}).Validate() == nil {
			t.Errorf("unit %d is none", u)
		}
	}
	for u := Day; u <= Month; u++ {
		if got, err := ParseUnit(u.String()); got != u || err != nil || (Calendar{Unit: u}).Validate() != nil {
			t.Errorf("%s parses as %s, %v", u, got, err)
		}
	}
	for _, word := range []string{"", "none", "year", "Day"} {
		if _, err := ParseUnit(word); err == nil {
			t.Errorf("%q is a unit", word)
		}
	}
}

func FuzzCalendar(f *testing.F) {
	f.Add(int64(0), uint8(1), "Europe/Berlin")
	f.Add(int64(math.MaxInt64), uint8(3), "Pacific/Apia")
	f.Fuzz(func(t *testing.T, now int64, unit uint8, name string) {
		z, err := time.LoadLocation(name)
		c := Calendar{Unit(unit), z}
		if err != nil || c.Validate() != nil || now < 0 {
			return
		}
		if start, end := c.Around(now); start > now || now >= end && end != math.MaxInt64 {
			t.Fatalf("%s around %d: %d to %d", c, now, start, end)
		}
	})
}
