package outbound

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// asked is the pause that an answer asks for; 0 or less when it asks for none.
// What cannot be read is as if it was not there.
//
// Retry-After wins over everything else. Of the other fields the longest pause
// counts, and only when nothing at all is left: their units are the remote
// side's own.
func asked(r *http.Response, now time.Time) time.Duration {
	age, cached := age(r.Header)
	there := remoteNow(r.Header, age, now)
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable {
		if pause, ok := retryAfter(r.Header, there); ok {
			return pause
		}
	}
	if cached {
		return 0 // the fields tell of the moment when the answer was stored
	}
	return max(
		rateLimit(r.Header),
		spent(r.Header, "RateLimit-Remaining", "RateLimit-Reset", there),
		spent(r.Header, "X-RateLimit-Remaining", "X-RateLimit-Reset", there),
	)
}

// age is for how long an answer was in caches; cached says that it was in one.
func age(h http.Header) (age time.Duration, cached bool) {
	n, ok := digits(h.Get("Age"))
	return seconds(n), ok && n > 0
}

// remoteNow is the time by the remote side's clock, so that moments that it
// names are right even when our clocks differ.
func remoteNow(h http.Header, age time.Duration, now time.Time) time.Time {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return now
	}
	return date.Add(age)
}

// retryAfter reads whole seconds or a date.
func retryAfter(h http.Header, there time.Time) (pause time.Duration, ok bool) {
	text := single(h, "Retry-After")
	if n, ok := digits(text); ok {
		return seconds(n), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return at.Sub(there), true
}

// rateLimit reads the field of the drafts 08 to 12: a list of limits, each with
// what is left (r, later a) and for how many seconds (t, later w). A limit
// without a time counts requests in flight; no clock makes it free again.
func rateLimit(h http.Header) (pause time.Duration) {
	list, err := httpsfv.UnmarshalList(h.Values("RateLimit"))
	if err != nil {
		return 0
	}
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok || !named(item.Value) {
			continue
		}
		left, known := parameter(item.Params, "a", "r")
		until, timed := parameter(item.Params, "w", "t")
		if known && timed && left == 0 {
			pause = max(pause, seconds(until))
		}
	}
	return pause
}

// named reports whether a limit has a name: a string, or a token of those who
// read the drafts early.
func named(v any) bool {
	switch v.(type) {
	case string, httpsfv.Token:
		return true
	}
	return false
}

// parameter is the first of the names that is there, if it is a whole number
// of 0 or more.
func parameter(p *httpsfv.Params, names ...string) (n int64, ok bool) {
	for _, name := range names {
		if v, there := p.Get(name); there {
			n, ok = v.(int64)
			return n, ok && n >= 0
		}
	}
	return 0, false
}

// epoch is the smallest number that is read as a moment, in seconds since
// 1970: as a number of seconds to wait it would be 31 years. From epochMillis
// on it is milliseconds: as seconds it would be the year 5138.
const (
	epoch       = 1_000_000_000
	epochMillis = 100_000_000_000
)

// spent reads a pair of fields from before the drafts agreed on one: when
// nothing remains, the pause is until the reset. Some send the seconds until
// then, some the moment.
func spent(h http.Header, remaining, reset string, there time.Time) time.Duration {
	left, known := digits(single(h, remaining))
	n, timed := digits(single(h, reset))
	switch {
	case !known || !timed || left > 0:
		return 0
	case n < epoch:
		return seconds(n)
	case n < epochMillis:
		return time.Unix(n, 0).Sub(there)
	}
	return time.UnixMilli(n).Sub(there)
}

// single is the value of a field that must be there once.
func single(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return strings.Trim(values[0], " \t")
	}
	return ""
}

// digits reads a whole number without a sign, as the fields have it: no
// fraction, no unit, no space. What does not fit counts as the largest.
func digits(s string) (n int64, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

// seconds is a number of seconds, at most what a duration can hold.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(math.MaxInt64/time.Second))) * time.Second
}
