package outbound

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

// noon is the moment of the tests, by our clock.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// answer is a response with header lines "Name: value", as they come in.
func answer(status int, lines ...string) *http.Response {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return &http.Response{StatusCode: status, Header: h}
}

func TestRetryAfterIsReadAsTheStandardHasIt(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"3":                              3 * time.Second,
		"120":                            2 * time.Minute,
		"0":                              0,
		" 7\t":                           7 * time.Second,
		"00010":                          10 * time.Second,
		"99999999999999999999999":        math.MaxInt64 / time.Second * time.Second,
		"Mon, 30 Nov 2026 12:00:30 GMT":  30 * time.Second,
		"Monday, 30-Nov-26 12:00:30 GMT": 30 * time.Second, // obsolete, still to be understood
		"Mon Nov 30 12:00:30 2026":       30 * time.Second,

		"Mon, 30 Nov 2026 12:00:30 UTC":   0, // no HTTP date
		"Mon, 30 Nov 2026 14:00:30 +0200": 0,
		"2026-11-30T12:00:30Z":            0,
		"0.25":                            0, // milliseconds divided by 1,000
		"1.5":                             0,
		"-1":                              0,
		"+3":                              0,
		"3s":                              0,
		"250ms":                           0,
		"3, 5":                            0,
		"1e3":                             0,
		"٣":                               0,
		"":                                0,
		"soon":                            0,
	} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			if got := asked(answer(status, "Retry-After: "+value), noon); got != want {
				t.Errorf("%d with Retry-After %q asks for %s, want %s", status, value, got, want)
			}
		}
	}
}

func TestRetryAfterIsForRefusalsAlone(t *testing.T) {
	for _, status := range []int{200, 202, 301, 404, 500, 502, 504} {
		if got := asked(answer(status, "Retry-After: 9"), noon); got != 0 {
			t.Errorf("%d asks for %s", status, got)
		}
	}
	if got := asked(answer(429, "Retry-After: 9", "Retry-After: 8"), noon); got != 0 {
		t.Errorf("two different ones ask for %s", got)
	}
}

func TestDatesAreByTheClockOfWhoSendsThem(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  time.Duration
	}{
		{[]string{"Date: Mon, 30 Nov 2026 09:00:00 GMT", "Retry-After: Mon, 30 Nov 2026 09:00:20 GMT"}, 20 * time.Second},
		{[]string{"Date: Mon, 30 Nov 2026 09:00:00 GMT", "Retry-After: 20"}, 20 * time.Second},
		{[]string{"Date: yesterday", "Retry-After: Mon, 30 Nov 2026 12:00:20 GMT"}, 20 * time.Second},
		{[]string{"Date: Mon, 30 Nov 2026 11:59:30 GMT", "Age: 30", "Retry-After: Mon, 30 Nov 2026 12:00:20 GMT"}, 20 * time.Second},
		{[]string{"Date: Thu, 01 Jan 1970 00:00:00 GMT", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1796040020"}, 1796040020 * time.Second},
		{[]string{"Date: Mon, 30 Nov 2026 12:00:00 GMT", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1796040020"}, 20 * time.Second},
	} {
		if got := asked(answer(429, c.lines...), noon); got != c.want {
			t.Errorf("%v ask for %s, want %s", c.lines, got, c.want)
		}
	}
	if got := asked(answer(429, "Retry-After: Mon, 30 Nov 2026 11:59:00 GMT"), noon); got > 0 {
		t.Errorf("a moment that has gone asks for %s", got)
	}
}

func TestTheRateLimitFieldOfEachDraft(t *testing.T) {
	for value, want := range map[string]time.Duration{
		`"p";r=0;t=30`:                    30 * time.Second, // drafts 08 to 11
		`"p";a=0;w=30`:                    30 * time.Second, // draft 12
		`"p";a=0;w=7;c=5`:                 7 * time.Second,
		`p;r=0;t=30`:                      30 * time.Second, // a token, as early readers send it
		`"p";t=30;r=0`:                    30 * time.Second,
		`"p";r=0;t=30;pk=:R0VUH2FsaWNl:`:  30 * time.Second,
		`"day";r=0;t=3600, "sec";r=0;t=1`: time.Hour, // the longest
		`"day";r=5;t=3600, "sec";r=0;t=1`: time.Second,
		`"p";r=0;t=999999999999999`:       math.MaxInt64 / time.Second * time.Second,

		`"p";r=1;t=30`:                    0, // something is left
		`"p";r=0`:                         0, // in flight: no clock frees it
		`"p";r=0;t=0`:                     0,
		`"p";t=30`:                        0,
		`"p"`:                             0,
		`"p";r=0;t=-3`:                    0,
		`"p";r=-1;t=30`:                   0,
		`"p";r=0.0;t=30`:                  0,
		`"p";r=0;t=1.5`:                   0,
		`"p";r="0";t=30`:                  0,
		`"p";r;t=30`:                      0,
		`"p";r=0, t=30`:                   0, // a comma begins another limit
		`"p";r=0;t=9999999999999999`:      0, // 16 digits are no integer
		`("p" "q");r=0;t=30`:              0, // a list within
		`5;r=0;t=30`:                      0, // a number is no name
		`limit=100, remaining=0, reset=5`: 0, // draft 07
		`"é";r=0;t=30`:                    0,
		`"p";R=0;T=30`:                    0,
		`"p;r=0;t=30`:                     0,
		`"p";r=0;t=30, `:                  0, // a fault anywhere spoils the field
		``:                                0,
	} {
		if got := asked(answer(200, "RateLimit: "+value), noon); got != want {
			t.Errorf("%q asks for %s, want %s", value, got, want)
		}
	}
	if got := asked(answer(200, `ratelimit: "a";r=0;t=3`, `RATELIMIT: "b";r=0;t=4`), noon); got != 4*time.Second {
		t.Errorf("a field of two lines asks for %s", got)
	}
}

func TestTheOlderFields(t *testing.T) {
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-", "x-ratelimit-"} {
		for _, c := range []struct {
			remaining, reset string
			want             time.Duration
		}{
			{"0", "30", 30 * time.Second},
			{"0", "999999999", 999_999_999 * time.Second},    // the largest number of seconds
			{"0", "1796040030", 30 * time.Second},            // seconds since 1970
			{"0", "1796040030500", 30500 * time.Millisecond}, // milliseconds
			{"0", "0", 0},
			{"1", "30", 0},
			{"", "30", 0},
			{"0", "", 0},
			{"-1", "30", 0},
			{"0", "-30", 0},
			{"0.5", "30", 0},
			{"0", "30.5", 0},
			{"0, 0;w=1", "30", 0},
			{"none", "30", 0},
			{"0", "Mon, 30 Nov 2026 12:00:30 GMT", 0},
			{"0", "30s", 0},
		} {
			if got := asked(answer(200, prefix+"Remaining: "+c.remaining, prefix+"Reset: "+c.reset), noon); got != c.want {
				t.Errorf("%sRemaining %q and Reset %q ask for %s, want %s", prefix, c.remaining, c.reset, got, c.want)
			}
		}
	}
	for _, reset := range []string{"1796039000", "1000000000", "100000000000"} { // moments that have gone
		if got := asked(answer(200, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+reset), noon); got > 0 {
			t.Errorf("a reset at %s asks for %s", reset, got)
		}
	}
}

func TestWhichFieldWins(t *testing.T) {
	for _, c := range []struct {
		why    string
		status int
		lines  []string
		want   time.Duration
	}{
		{"Retry-After, though shorter", 429, []string{"Retry-After: 2", `RateLimit: "p";r=0;t=30`, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"}, 2 * time.Second},
		{"Retry-After, though at once", 503, []string{"Retry-After: 0", `RateLimit: "p";r=0;t=30`}, 0},
		{"the field, when Retry-After is garbage", 429, []string{"Retry-After: 2.5", `RateLimit: "p";r=0;t=30`}, 30 * time.Second},
		{"the field, when Retry-After is not about quota", 301, []string{"Retry-After: 2", `RateLimit: "p";r=0;t=30`}, 30 * time.Second},
		{"the longest of the fields", 200, []string{`RateLimit: "p";r=0;t=3`, "RateLimit-Remaining: 0", "RateLimit-Reset: 4", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 5"}, 5 * time.Second},
		{"no field of a cached answer", 200, []string{"Age: 1", `RateLimit: "p";r=0;t=30`, "RateLimit-Remaining: 0", "RateLimit-Reset: 4"}, 0},
		{"Age 0 is fresh", 200, []string{"Age: 0", `RateLimit: "p";r=0;t=30`}, 30 * time.Second},
		{"Age that is garbage", 200, []string{"Age: old", `RateLimit: "p";r=0;t=30`}, 30 * time.Second},
		{"Retry-After of a cached refusal", 503, []string{"Age: 5", "Retry-After: 9"}, 9 * time.Second},
		{"halves of two pairs", 200, []string{"RateLimit-Remaining: 0", "X-RateLimit-Reset: 9"}, 0},
		{"nothing", 429, nil, 0},
	} {
		if got := asked(answer(c.status, c.lines...), noon); got != c.want {
			t.Errorf("%s: asks for %s, want %s", c.why, got, c.want)
		}
	}
}

// Whatever comes in, reading it ends without a panic, and a pause is there only
// when some field could be meant so.
func FuzzAsked(f *testing.F) {
	f.Add(429, "3", `"p";r=0;t=30`, "0", "30", "0", "Mon, 30 Nov 2026 12:00:00 GMT")
	f.Add(200, "Mon, 30 Nov 2026 12:00:30 GMT", `"p";a=0;w=30, "q";a=1`, "0", "1796040030", "5", "")
	f.Add(503, "99999999999999999999", `"p";r=0;t=999999999999999`, "0", "99999999999999999999", "99999999999999999999", "garbage")
	f.Fuzz(func(t *testing.T, status int, retry, field, remaining, reset, age, date string) {
		r := answer(status)
		for name, value := range map[string]string{
			"Retry-After": retry, "RateLimit": field, "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset, "Age": age, "Date": date,
		} {
			r.Header.Set(name, value)
		}
		pause := asked(r, noon)
		if pause <= 0 {
			return
		}
		refusal := status == 429 || status == 503
		if !(refusal && retry != "") && !strings.Contains(field, "0") && !strings.Contains(remaining, "0") {
			t.Errorf("%d %v asks for %s", status, r.Header, pause)
		}
		if retry == "" && date == "" && pause%time.Millisecond != 0 {
			t.Errorf("%v asks for a part of a millisecond: %s", r.Header, pause)
		}
	})
}
