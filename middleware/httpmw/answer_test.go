package httpmw_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// ask sends one request through a middleware in front of a stage.
func ask(t testing.TB, c httpmw.Config, kind string, s pipeline.Stage, r *http.Request, h http.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	protect(t, c, one(t, nil, kind, s)).Wrap(h).ServeHTTP(w, r)
	return w
}

func nothing(http.ResponseWriter, *http.Request) {}

func dictionary(t testing.TB, w *httptest.ResponseRecorder) *httpsfv.Dictionary {
	t.Helper()
	d, err := httpsfv.UnmarshalDictionary(w.Header()["Plimsoll-Decision"])
	if err != nil {
		t.Fatalf("Plimsoll-Decision %q: %v", w.Header()["Plimsoll-Decision"], err)
	}
	return d
}

func value(d *httpsfv.Dictionary, name string) any {
	member, ok := d.Get(name)
	if !ok {
		return nil
	}
	return member.(httpsfv.Item).Value
}

// Each reason has its status, its problem, and a decision field that a strict
// parser reads.
func TestEachReasonIsTold(t *testing.T) {
	type line struct {
		status, grpc int
		kind         string
		retry        string // without a known wait
	}
	const quota, capacity, abuse = "quota-exceeded", "temporary-reduced-capacity", "abnormal-usage-detected"
	want := map[pipeline.Reason]line{
		pipeline.RateLimited:      {429, 8, quota, ""},
		pipeline.CostTooLarge:     {429, 8, quota, ""},
		pipeline.TooManyInFlight:  {429, 8, quota, ""},
		pipeline.FleetShed:        {503, 14, capacity, "1"},
		pipeline.WorkerShed:       {503, 14, capacity, "1"},
		pipeline.QueueTimeout:     {503, 14, capacity, "1"},
		pipeline.OperatorShed:     {503, 14, capacity, "1"},
		pipeline.CallerBlocked:    {429, 8, abuse, ""},
		pipeline.StoreUnavailable: {503, 14, capacity, "1"},
	}
	for reason := pipeline.None + 1; reason < pipeline.Reasons; reason++ {
		l, ok := want[reason]
		if !ok {
			t.Errorf("%v is not in the table of this test", reason)
		}
		w := ask(t, httpmw.Config{}, "ratelimit", refusing(reason, pipeline.Detail{Rule: "per-caller"}), newRequest("GET", "/"), nothing)
		d := dictionary(t, w)
		for name, expect := range map[string]any{
			"stage": httpsfv.Token("ratelimit"), "reason": httpsfv.Token(reason.String()), "limit": "per-caller", "class": httpsfv.Token("normal"),
		} {
			if got := value(d, name); got != expect {
				t.Errorf("%v: %s is %v, want %v", reason, name, got, expect)
			}
		}
		id, _ := value(d, "id").(string)
		if _, err := store.ParseID(id); err != nil {
			t.Errorf("%v: %v", reason, err)
		}
		var body struct {
			Type, Title, Detail, Reason, Class string
			Status                             int
			Policies                           []string `json:"violated-policies"`
			ID                                 string   `json:"decision_id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%v: %v in %s", reason, err, w.Body)
		}
		if body.Type != "https://iana.org/assignments/http-problem-types#"+l.kind || body.Title == "" || body.Detail == "" ||
			body.Reason != reason.String() || body.Class != "normal" || body.Status != l.status || body.ID != id ||
			len(body.Policies) != 1 || body.Policies[0] != "per-caller" {
			t.Errorf("%v: %s", reason, w.Body)
		}
		h := w.Header()
		if w.Code != l.status || h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" || h.Get("Retry-After") != l.retry {
			t.Errorf("%v: %d %v", reason, w.Code, h)
		}
		if r := httpmw.RefusalOf(reason); r.Status != l.status || r.GRPC != l.grpc {
			t.Errorf("%v: %+v", reason, r)
		}
	}
}

// The field as the documentation has it, byte for byte.
func TestTheDecisionFieldIsExact(t *testing.T) {
	var id store.ID
	stage := looking(func(r *pipeline.Request) pipeline.Decision {
		r.Detail.Rule, id = "per-caller", r.ID()
		return pipeline.Refuse(pipeline.RateLimited)
	})
	w := ask(t, httpmw.Config{}, "ratelimit", stage, newRequest("GET", "/"), nothing)
	want := `stage=ratelimit, reason=rate-limited, limit="per-caller", class=normal, id="` + id.String() + `"`
	if got := w.Header().Get("Plimsoll-Decision"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	w = ask(t, httpmw.Config{}, "workershed", refusing(pipeline.WorkerShed, pipeline.Detail{}), newRequest("GET", "/"), nothing)
	if got := w.Header().Get("Plimsoll-Decision"); strings.Contains(got, "limit=") {
		t.Errorf("no rule decided: %s", got)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		wait        time.Duration
		least, most int // 0: absent
	}{
		{1, 1, 1}, {time.Second, 1, 1}, {time.Second + 1, 2, 2}, {1500 * time.Millisecond, 2, 2},
		{100 * time.Second, 100, 110}, {time.Hour, 3600, 3960}, {store.Never, 0, 0}, {0, 0, 0}, {31 * 24 * time.Hour, 2678400, 2678400 + 300}, {1<<63 - 1, 9223372037, 9223372037 + 301},
	} {
		w := ask(t, httpmw.Config{}, "x", refusing(pipeline.RateLimited, pipeline.Detail{RetryAfter: c.wait}), newRequest("GET", "/"), nothing)
		text := w.Header().Get("Retry-After")
		var body struct {
			MS *int64 `json:"retry_after_ms"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if c.least == 0 {
			if text != "" || body.MS != nil {
				t.Errorf("%v: Retry-After %q, body %s", c.wait, text, w.Body)
			}
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < c.least || n > c.most {
			t.Errorf("%v: Retry-After %q, want %d to %d", c.wait, text, c.least, c.most)
		}
		ms := (c.wait-1)/time.Millisecond + 1
		if body.MS == nil || *body.MS < int64(ms) || *body.MS > int64(ms+ms/10) {
			t.Errorf("%v: body %s", c.wait, w.Body)
		}
	}
}

// Those who are refused together are not asked back together.
func TestRetryAfterHasJitter(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		w := ask(t, httpmw.Config{}, "x", refusing(pipeline.RateLimited, pipeline.Detail{RetryAfter: 100 * time.Second}), newRequest("GET", "/"), nothing)
		text := w.Header().Get("Retry-After")
		seen[text] = true
		var body struct {
			MS int64 `json:"retry_after_ms"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if n, _ := strconv.ParseInt(text, 10, 64); body.MS < n*1000 || body.MS > (n+1)*1000 {
			t.Fatalf("the header asks for %s s, the body for %d ms", text, body.MS)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %v", seen)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	w := ask(t, httpmw.Config{}, "x", refusing(pipeline.WorkerShed, pipeline.Detail{}), newRequest("HEAD", "/"), nothing)
	if w.Code != 503 || w.Body.Len() != 0 || w.Header().Get("Plimsoll-Decision") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestStatusByKindOfStage(t *testing.T) {
	c := httpmw.Config{Status: map[string]int{"workershed": 429, "ratelimit": 503}}
	for kind, want := range map[string]int{"workershed": 429, "fleetshed": 503} {
		w := ask(t, c, kind, refusing(pipeline.WorkerShed, pipeline.Detail{}), newRequest("GET", "/"), nothing)
		if w.Code != want || !strings.Contains(w.Body.String(), `"status":`+strconv.Itoa(want)) {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
	}
	if w := ask(t, c, "ratelimit", refusing(pipeline.RateLimited, pipeline.Detail{}), newRequest("GET", "/"), nothing); w.Code != 503 {
		t.Errorf("ratelimit: %d", w.Code)
	}
}

// What a refusal says is made of the table, the rule's name, the class and the
// id: nothing of who asked, nothing of figures inside.
func TestARefusalTellsNoSecrets(t *testing.T) {
	l := tokens(t, "per-caller", limit.Per(100, time.Second), 500)
	r := newRequest("GET", "/secret-path?token=secret-query")
	r.Header.Set("X-Api-Key", "secret-key")
	detail := pipeline.Detail{Rule: l.Name, Limit: l, RetryAfter: time.Second, ResetAfter: 5 * time.Second}
	w := ask(t, httpmw.Config{}, "ratelimit", refusing(pipeline.RateLimited, detail), r, nothing)
	var all strings.Builder
	_ = w.Header().Write(&all)
	all.WriteString(w.Body.String())
	for _, secret := range []string{"secret", "192.0.2.1", "ratelimit-1"} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("%q is told in %s", secret, all.String())
		}
	}
}

// Names that no field can hold as they are do not break the field, the header
// or the body.
func TestEvilNames(t *testing.T) {
	for _, name := range []string{"a\r\nSet-Cookie: x=1", `a"b\c`, "é\x00\x1b[31m", strings.Repeat("x", 1000), "{}", "a, b;c=1"} {
		w := ask(t, httpmw.Config{}, name, refusing(pipeline.WorkerShed, pipeline.Detail{Rule: name}), newRequest("GET", "/"), nothing)
		d := dictionary(t, w)
		if got, _ := value(d, "limit").(string); len(got) != len(name) {
			t.Errorf("limit %q for %q", got, name)
		}
		if text := w.Header().Get("Plimsoll-Decision"); strings.ContainsAny(text, "\r\n\x00\x1b") {
			t.Errorf("%q", text)
		}
		if !json.Valid(w.Body.Bytes()) || strings.Count(w.Body.String(), "\n") != 1 {
			t.Errorf("body %q", w.Body)
		}
	}
}
