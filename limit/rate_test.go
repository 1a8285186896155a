package limit

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"100/s": Per(100, time.Second), "100/sec": Per(100, time.Second), "100/second": Per(100, time.Second),
		"1000/min": Per(1000, time.Minute), "1000/m": Per(1000, time.Minute), "1000/minute": Per(1000, time.Minute),
		"20/h": Per(20, time.Hour), "20/hour": Per(20, time.Hour),
		"5000/day": Per(5000, 24*time.Hour), "5000/d": Per(5000, 24*time.Hour),
		"10/30s": Per(10, 30*time.Second), "1/1h30m": Per(1, 90*time.Minute), "1/1ns": Per(1, 1),
		" 7 / min ": Per(7, time.Minute), "0/s": Per(0, time.Second),
		"9223372036854775807/s": Per(math.MaxInt64, time.Second),
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseRateFaults(t *testing.T) {
	for text, says := range map[string]string{
		"": "count/period", "100": "count/period", "100 per second": "count/period",
		"/s": "count", "-1/s": "count", "+1/s": "count", "1.5/s": "count", "1e3/s": "count", "0x10/s": "count", "1_0/s": "count",
		"9223372036854775808/s": "9223372036854775807",
		"1/":                    "period", "1/week": "period", "1/month": "period", "1/year": "period", "1/fortnight": "period",
		"1/0s": "period", "1/-5s": "period", "1/5": "period", "1/s/s": "period", "1/0.4ns": "period", "1/10000000h": "period",
	} {
		got, err := ParseRate(text)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "limit: ") {
			t.Errorf("ParseRate(%q) = %v, %v, want an error that names the %s", text, got, err, says)
		}
	}
}

func TestRateString(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		want string
	}{
		{Per(100, time.Second), "100/s"}, {Per(1, time.Minute), "1/min"}, {Per(2, time.Hour), "2/h"}, {Per(3, 24*time.Hour), "3/d"},
		{Per(10, 30*time.Second), "10/30s"}, {Per(1, 1), "1/1ns"},
	} {
		if got := c.rate.String(); got != c.want {
			t.Errorf("%#v reads %q, want %q", c.rate, got, c.want)
		}
	}
}

func TestRateStringParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		if got, err := ParseRate(r.String()); err != nil || got != r {
			t.Fatalf("%v reads %q and parses as %v, %v", r, r.String(), got, err)
		}
	})
}

func TestRateValidate(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		ok   bool
	}{
		{Rate{}, true}, {Per(0, -1), true}, {Per(1, 1), true}, {Per(math.MaxInt64, math.MaxInt64), true},
		{Per(-1, time.Second), false}, {Per(1, 0), false}, {Per(1, -1), false}, {Per(math.MinInt64, 1), false},
	} {
		if err := c.rate.Validate(); (err == nil) != c.ok {
			t.Errorf("%#v: %v", c.rate, err)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	for _, seed := range []string{"100/s", "1000/min", "5000/day", "10/30s", "1/1h30m", "", "/", "1/", "-1/s", "9223372036854775807/ns", "1/0.1ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRate(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "limit: rate ") {
				t.Fatalf("ParseRate(%q): %v", text, err)
			}
			return
		}
		if r.Count < 0 || r.Period <= 0 || r.Validate() != nil {
			t.Fatalf("ParseRate(%q) = %#v", text, r)
		}
		if again, err := ParseRate(r.String()); err != nil || again != r {
			t.Fatalf("ParseRate(%q) = %v, which reads %q and parses as %v, %v", text, r, r.String(), again, err)
		}
	})
}
