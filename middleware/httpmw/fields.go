package httpmw

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// Fields is the form in which clients are told the limit that refused them, or
// that has the least left. The zero value is Draft11.
type Fields uint8

// The forms.
const (
	Draft11  Fields = iota // RateLimit-Policy, RateLimit with r and t: draft-ietf-httpapi-ratelimit-headers-11
	Draft12                // the same with a and w, as in draft 12
	Legacy                 // RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset in seconds from now
	NoFields               // none
)

var formWords = [...]string{"draft-11", "draft-12", "legacy", "none"}

// String is draft-11, draft-12, legacy or none.
func (f Fields) String() string { return formWords[min(f, NoFields)] }

// ParseFields reads what String wrote.
func ParseFields(s string) (Fields, error) {
	for i, word := range formWords {
		if word == s {
			return Fields(i), nil
		}
	}
	return Draft11, fmt.Errorf("httpmw: unknown form of fields %q, allowed: %s", s, strings.Join(formWords[:], ", "))
}

// Header names as net/http writes them.
const (
	policyHeader    = "Ratelimit-Policy"
	rateHeader      = "Ratelimit"
	limitHeader     = "Ratelimit-Limit"
	remainingHeader = "Ratelimit-Remaining"
	resetHeader     = "Ratelimit-Reset"
)

// mostFields is how many lines a form has at most.
const mostFields = 3

// add adds the lines for a limit to a draft. What a service behind said of its
// own limits stays: ours is a further member of its lists, unless a policy of
// the same name is there already, or what is there cannot be read.
func (f Fields) add(d *draft, there http.Header, l *store.Limit, remaining int64, window time.Duration) {
	quota, period := policyOf(l)
	remaining = bounded(remaining)
	switch f {
	case Draft11, Draft12:
		start := len(d.text)
		d.text = appendString(d.text, l.Name)
		name := d.text[start:]
		if lists(there[policyHeader], name) || lists(there[rateHeader], name) {
			d.text = d.text[:start]
			return
		}
		end := len(d.text)
		d.add(policyHeader, appendPolicy(d.text, l, quota, period))
		d.add(rateHeader, f.appendRate(append(d.text, d.text[start:end]...), remaining, window))
	case Legacy:
		if len(there[limitHeader]) > 0 || len(there[remainingHeader]) > 0 || len(there[resetHeader]) > 0 {
			return
		}
		d.add(limitHeader, strconv.AppendInt(d.text, quota, 10))
		d.add(remainingHeader, strconv.AppendInt(d.text, remaining, 10))
		if l.Kind == store.Tokens {
			d.add(resetHeader, strconv.AppendInt(d.text, wholeSeconds(window), 10))
		}
	case NoFields:
	}
}

// appendPolicy appends the parameters of a policy.
func appendPolicy(b []byte, l *store.Limit, quota, period int64) []byte {
	b = strconv.AppendInt(append(b, ";q="...), quota, 10)
	if l.Kind == store.Slots {
		return append(b, `;qu="concurrent-requests"`...)
	}
	return strconv.AppendInt(append(b, ";w="...), period, 10)
}

// appendRate appends what is left, and for how long it has to do.
func (f Fields) appendRate(b []byte, remaining int64, window time.Duration) []byte {
	left, time := ";r=", ";t="
	if f == Draft12 {
		left, time = ";a=", ";w="
	}
	b = strconv.AppendInt(append(b, left...), remaining, 10)
	if window > 0 {
		b = strconv.AppendInt(append(b, time...), wholeSeconds(window), 10)
	}
	return b
}

// policyOf is the quota of a limit, and the seconds in which it comes back. Of
// a bucket that is the whole bucket, so that what is left is never more than
// the quota; where the time is no whole number it is rounded up. Of a calendar's
// quota it is the day, week or month that it is now, with all its hours.
func policyOf(l *store.Limit) (quota, period int64) {
	switch {
	case l.Window.Calendar.Unit != limit.NoUnit:
		start, end := l.Window.Calendar.Around(time.Now().UnixNano())
		return bounded(l.Rate.Count), wholeSeconds(time.Duration(end - start))
	case l.Kind == store.Slots:
		return bounded(l.Max), 0
	case l.Algorithm == store.FixedWindow || l.Rate.Count <= 0:
		return bounded(l.Rate.Count), max(wholeSeconds(l.Rate.Period), 1)
	}
	full := float64(l.Burst) / float64(l.Rate.Count) * l.Rate.Period.Seconds()
	return bounded(l.Burst), bounded(int64(min(max(math.Ceil(full), 1), largest)))
}

func wholeSeconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return seconds(d)
}

// largest is the largest Integer of RFC 9651.
const largest = 999_999_999_999_999

func bounded(n int64) int64 { return min(max(n, 0), largest) }
