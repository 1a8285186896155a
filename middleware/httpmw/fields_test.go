package httpmw_test

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/dunglas/httpsfv"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// granting admits with a detail, as the pipeline leaves it after a grant.
func granting(d pipeline.Detail) looking {
	return func(r *pipeline.Request) pipeline.Decision {
		r.Detail = d
		return pipeline.Decision{}
	}
}

func TestRateLimitFields(t *testing.T) {
	perCaller := tokens(t, "per-caller", limit.Per(100, time.Second), 500)
	odd := tokens(t, "odd", limit.Per(3, 100*time.Millisecond), 1)
	slots, err := store.NewSlots("conc", 20, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	window, err := store.NewTokens("logins", store.FixedWindow, limit.Per(5, time.Minute), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		form  httpmw.Fields
		stage pipeline.Stage
		want  map[string]string
	}{
		{"draft 11, admitted", httpmw.Draft11, granting(pipeline.Detail{Limit: perCaller, Remaining: 42, ResetAfter: 4580 * time.Millisecond}), map[string]string{
			"RateLimit-Policy": `"per-caller";q=500;w=5`, "RateLimit": `"per-caller";r=42;t=5`,
		}},
		{"draft 12, admitted", httpmw.Draft12, granting(pipeline.Detail{Limit: perCaller, Remaining: 42, ResetAfter: 4580 * time.Millisecond}), map[string]string{
			"RateLimit-Policy": `"per-caller";q=500;w=5`, "RateLimit": `"per-caller";a=42;w=5`,
		}},
		{"draft 11, refused", httpmw.Draft11, refusing(pipeline.RateLimited, pipeline.Detail{Rule: "per-caller", Limit: perCaller, RetryAfter: 1100 * time.Millisecond, ResetAfter: 5 * time.Second}), map[string]string{
			"RateLimit-Policy": `"per-caller";q=500;w=5`, "RateLimit": `"per-caller";r=0;t=2`, "Retry-After": "2",
		}},
		{"never", httpmw.Draft11, refusing(pipeline.CostTooLarge, pipeline.Detail{Rule: "per-caller", Limit: perCaller, Remaining: 500, RetryAfter: store.Never}), map[string]string{
			"RateLimit-Policy": `"per-caller";q=500;w=5`, "RateLimit": `"per-caller";r=500`, "Retry-After": "",
		}},
		{"legacy", httpmw.Legacy, granting(pipeline.Detail{Limit: window, Remaining: 4, ResetAfter: 7 * time.Second}), map[string]string{
			"RateLimit-Limit": "5", "RateLimit-Remaining": "4", "RateLimit-Reset": "7", "RateLimit": "",
		}},
		{"a window", httpmw.Draft11, granting(pipeline.Detail{Limit: window, Remaining: 4, ResetAfter: 7 * time.Second}), map[string]string{
			"RateLimit-Policy": `"logins";q=5;w=60`, "RateLimit": `"logins";r=4;t=7`,
		}},
		{"a period below a second, nothing spent", httpmw.Draft11, granting(pipeline.Detail{Limit: odd, Remaining: 1}), map[string]string{
			"RateLimit-Policy": `"odd";q=1;w=1`, "RateLimit": `"odd";r=1`,
		}},
		{"slots", httpmw.Draft11, refusing(pipeline.TooManyInFlight, pipeline.Detail{Rule: "conc", Limit: slots}), map[string]string{
			"RateLimit-Policy": `"conc";q=20;qu="concurrent-requests"`, "RateLimit": `"conc";r=0`, "Retry-After": "",
		}},
		{"slots say nothing while there are some", httpmw.Draft11, granting(pipeline.Detail{Limit: slots, Remaining: 3}), map[string]string{"RateLimit": "", "RateLimit-Policy": ""}},
		{"no limit decided", httpmw.Draft11, granting(pipeline.Detail{}), map[string]string{"RateLimit": "", "RateLimit-Policy": ""}},
		{"none", httpmw.NoFields, granting(pipeline.Detail{Limit: perCaller, Remaining: 42}), map[string]string{"RateLimit": "", "RateLimit-Policy": ""}},
	} {
		w := ask(t, httpmw.Config{Fields: c.form}, "ratelimit", c.stage, newRequest("GET", "/"), nothing)
		for name, want := range c.want {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.what, name, got, want)
			}
		}
	}
}

// The policy of each algorithm: what there is at most at once, and in how many
// seconds that comes back.
func TestPolicyOfEachAlgorithm(t *testing.T) {
	for a, want := range map[store.Algorithm]string{
		store.TokenBucket:   `"limit";q=30;w=180`, // 30 at 10/min
		store.FixedWindow:   `"limit";q=10;w=60`,
		store.SlidingWindow: `"limit";q=10;w=60`,
		store.SlidingLog:    `"limit";q=10;w=60`,
		store.StrictWindow:  `"limit";q=10;w=60`,
		store.LeakyBucket:   `"limit";q=31;w=186`, // one beside the burst of 30
	} {
		l, err := store.NewTokens("limit", a, limit.Per(10, time.Minute), 30)
		if err != nil {
			t.Fatal(err)
		}
		if got := policyTold(t, l); got != want {
			t.Errorf("%s: %s, want %s", a, got, want)
		}
	}
}

// The policy of a quota is the part of the calendar that it is now.
func TestPolicyOfAQuota(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for month, c := range map[string]struct {
		now  time.Time
		unit limit.Unit
		want string
	}{
		"February":                       {time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC), limit.Month, `"quota";q=5;w=2419200`},
		"February of a leap year":        {time.Date(2028, 2, 3, 12, 0, 0, 0, time.UTC), limit.Month, `"quota";q=5;w=2505600`},
		"October, which is an hour more": {time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC), limit.Month, `"quota";q=5;w=2682000`},
		"the week that is an hour less":  {time.Date(2026, 3, 24, 12, 0, 0, 0, time.UTC), limit.Week, `"quota";q=5;w=601200`},
		"a day":                          {time.Date(2026, 3, 24, 12, 0, 0, 0, time.UTC), limit.Day, `"quota";q=5;w=86400`},
	} {
		t.Run(month, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(c.now)) // from the beginning of 2000
				l, err := store.NewQuota("quota", 5, limit.Calendar{Unit: c.unit, Zone: berlin})
				if err != nil {
					t.Fatal(err)
				}
				if got := policyTold(t, l); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

// policyTold is the policy that a client is told of a limit.
func policyTold(t *testing.T, l *store.Limit) string {
	t.Helper()
	w := ask(t, httpmw.Config{}, "ratelimit", granting(pipeline.Detail{Limit: l, Remaining: 1, ResetAfter: time.Second}), newRequest("GET", "/"), nothing)
	return w.Header().Get("RateLimit-Policy")
}

// What the service behind says of its own limits is never overwritten.
func TestFieldsAreMergedWithTheServices(t *testing.T) {
	l := tokens(t, "per-caller", limit.Per(100, time.Second), 100)
	detail := pipeline.Detail{Limit: l, Remaining: 42, ResetAfter: time.Second}
	const policy, rate = `"per-caller";q=100;w=1`, `"per-caller";r=42;t=1`
	for _, c := range []struct {
		what                 string
		policies, rates      []string
		wantPolicy, wantRate []string
	}{
		{"another policy", []string{`"api";q=10;w=1`}, []string{`"api";r=5;t=3`}, []string{`"api";q=10;w=1`, policy}, []string{`"api";r=5;t=3`, rate}},
		{"the same policy", []string{`"per-caller";q=1;w=1`}, []string{`"per-caller";r=1;t=1`}, []string{`"per-caller";q=1;w=1`}, []string{`"per-caller";r=1;t=1`}},
		{"the same as a token, in one of them", nil, []string{`a;x="per-caller", per-caller ;r=1`}, nil, []string{`a;x="per-caller", per-caller ;r=1`}},
		{"its name within a string", nil, []string{`"x, \"per-caller\"";r=1`}, []string{policy}, []string{`"x, \"per-caller\"";r=1`, rate}},
		{"what cannot be read", nil, []string{`"open;r=1`}, nil, []string{`"open;r=1`}},
		{"a trailing comma", nil, []string{`a;r=1,`}, nil, []string{`a;r=1,`}},
	} {
		w := ask(t, httpmw.Config{}, "ratelimit", granting(detail), newRequest("GET", "/"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Ratelimit-Policy"], w.Header()["Ratelimit"] = c.policies, c.rates
			_, _ = io.WriteString(w, "x")
		})
		if got := w.Header()["Ratelimit-Policy"]; !slices.Equal(got, c.wantPolicy) {
			t.Errorf("%s: policy %q, want %q", c.what, got, c.wantPolicy)
		}
		got := w.Header()["Ratelimit"]
		if !slices.Equal(got, c.wantRate) {
			t.Errorf("%s: rate %q, want %q", c.what, got, c.wantRate)
		}
		if len(got) > 1 {
			if list, err := httpsfv.UnmarshalList(got); err != nil || len(list) != 2 {
				t.Errorf("%s: %q reads as %v, %v", c.what, got, list, err)
			}
		}
	}
	w := ask(t, httpmw.Config{Fields: httpmw.Legacy}, "ratelimit", granting(detail), newRequest("GET", "/"), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Remaining", "7")
	})
	if h := w.Header(); h.Get("RateLimit-Remaining") != "7" || h.Get("RateLimit-Limit") != "" {
		t.Errorf("legacy: %v", h)
	}
}

func TestNoFieldsOnRedirects(t *testing.T) {
	l := tokens(t, "per-caller", limit.Per(100, time.Second), 100)
	detail := pipeline.Detail{Limit: l, Remaining: 42}
	w := ask(t, httpmw.Config{}, "ratelimit", granting(detail), newRequest("GET", "/"), func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/there", http.StatusFound)
	})
	if w.Code != http.StatusFound || w.Header().Get("RateLimit") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestFormsReadBack(t *testing.T) {
	for f := httpmw.Draft11; f <= httpmw.NoFields; f++ {
		if got, err := httpmw.ParseFields(f.String()); err != nil || got != f {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	if _, err := httpmw.ParseFields("draft-7"); err == nil {
		t.Error("draft-7 is accepted")
	}
}
