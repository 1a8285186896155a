package config

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// ruleOf is the beginning of a file with one rate limit.
const ruleOf = "stages:\n  - stage: ratelimit\n    limits:\n      - "

// askAt asks for a caller's request on a path at a moment, 0 being now.
func askAt(t *testing.T, p *Protection, caller, path string, now int64) (pipeline.Decision, *pipeline.Request) {
	t.Helper()
	r := &pipeline.Request{
		Subject: match.Subject{Method: "GET", Path: path}, Now: now,
		Caller: pipeline.Caller{ID: store.KeyOf(caller), Name: caller},
	}
	return p.Pipeline().Acquire(t.Context(), r), r
}

// A quota of a file ends with the month of its zone, whatever its length.
func TestAQuotaOfAFileFollowsTheCalendar(t *testing.T) {
	p := protect(t, ruleOf+"{name: monthly, quota: 2/month, zone: America/New_York, overrides: [{caller: big, quota: 3/month}]}\n")
	place, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	at := func(month time.Month, day, hour int) int64 {
		return time.Date(2028, month, day, hour, 0, 0, 0, place).UnixNano()
	}
	for range 2 {
		if d, r := askAt(t, p, "a", "/", at(2, 1, 0)); d.Verdict != pipeline.Admit {
			t.Fatalf("%+v %+v", d, r.Detail)
		}
	}
	if d, r := askAt(t, p, "a", "/", at(2, 29, 23)); d.Verdict != pipeline.Reject || r.Detail.RetryAfter != time.Hour {
		t.Errorf("in the last hour of a leap year's February: %+v %+v", d, r.Detail)
	}
	if d, r := askAt(t, p, "a", "/", at(3, 1, 0)); d.Verdict != pipeline.Admit || r.Detail.ResetAfter != 31*24*time.Hour-time.Hour {
		t.Errorf("in a March that is an hour short of 31 days: %+v %+v", d, r.Detail)
	}
	if _, r := askAt(t, p, "big", "/", at(3, 1, 0)); r.Detail.Remaining != 2 {
		t.Errorf("an override of 3/month: %+v", r.Detail)
	}
}

func TestEveryAlgorithmOfAFileCounts(t *testing.T) {
	for a := store.TokenBucket; a <= store.LeakyBucket; a++ {
		extra := ""
		if a == store.LeakyBucket {
			extra = ", burst: 2, nodelay: true"
		}
		p := protect(t, ruleOf+"{name: limit, algorithm: "+a.String()+", rate: 3/min"+extra+"}\n")
		for i := range 4 {
			d, r := askAt(t, p, "a", "/", 1e18)
			if (d.Verdict == pipeline.Admit) != (i < 3) || r.Detail.Limit.Algorithm != a {
				t.Errorf("%s: request %d of 3: %+v", a, i+1, d)
			}
		}
	}
}

// NGINX's burst=5 delay=2 in a file delays as NGINX does.
func TestALeakyBucketOfAFileDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := protect(t, ruleOf+"{name: nginx, algorithm: leaky-bucket, rate: 10/s, burst: 5, delay: 2}\n")
		start := time.Now()
		for i, want := range []time.Duration{0, 0, 0, 100, 100} {
			before := time.Now()
			if d, _ := askAt(t, p, "a", "/", 0); d.Verdict != pipeline.Admit || time.Since(before) != want*time.Millisecond {
				t.Errorf("request %d: %+v after %s", i, d, time.Since(before))
			}
		}
		if time.Since(start) != 200*time.Millisecond {
			t.Errorf("all took %s", time.Since(start))
		}
	})
}

func TestQuotasAreWrittenAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]Quota{"5000/day": {5000, limit.Day}, "1/week": {1, limit.Week}, "0/month": {0, limit.Month}} {
		got, err := parseQuota(text)
		if err != nil || got != want || want.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5000", "/day", "5000/", "5000/year", "5000/s", "010/day", "1e3/day", "+1/day", "99999999999999999999/day"} {
		if got, err := parseQuota(text); err == nil {
			t.Errorf("%q is the quota %v", text, got)
		}
	}
}
