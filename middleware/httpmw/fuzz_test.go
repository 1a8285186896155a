package httpmw_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// FuzzDecision writes decisions with any names: a strict parser reads the
// field, and any JSON parser the body.
func FuzzDecision(f *testing.F) {
	f.Add("ratelimit", "per-caller", uint8(1), int64(time.Second))
	f.Add("", "", uint8(0), int64(-1))
	f.Add(`a"b\`, "é\r\n", uint8(200), int64(1)<<62)
	f.Fuzz(func(t *testing.T, kind, rule string, reason uint8, wait int64) {
		if kind == "" {
			kind = "1 kind"
		}
		d := pipeline.Detail{Rule: rule, RetryAfter: max(time.Duration(wait), -1)}
		w := ask(t, httpmw.Config{}, kind, refusing(pipeline.Reason(reason), d), newRequest("GET", "/"), nothing)
		got := dictionary(t, w)
		if limit, ok := value(got, "limit").(string); ok != (rule != "") || len(limit) != len(rule) {
			t.Fatalf("limit %q for %q", limit, rule)
		}
		switch stage := value(got, "stage").(type) {
		case httpsfv.Token:
			if string(stage) != kind {
				t.Fatalf("stage %q for %q", stage, kind)
			}
		case string:
			if len(stage) != len(kind) {
				t.Fatalf("stage %q for %q", stage, kind)
			}
		default:
			t.Fatalf("stage %v", stage)
		}
		var body map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
	})
}

// FuzzMerge puts our fields beside anything that a service behind might have
// said: what a strict parser can read stays readable, and theirs is in it
// unchanged; what it cannot read stays as it is.
func FuzzMerge(f *testing.F) {
	for _, theirs := range []string{
		``, `"api";r=5;t=3`, `per-caller;r=1`, `"per-caller";r=1`, `"a,b";r=1, "c"`, `("x" "y");r=1`, `:cGVy:;r=1`, `a;x="\"";y, b`, `1.5, ?1`, `@12`, `%"x%20"`, `a,`, `,a`, `"`,
	} {
		f.Add(theirs)
	}
	l := tokens(f, "per-caller", limit.Per(100, time.Second), 100)
	detail := pipeline.Detail{Limit: l, Remaining: 42}
	f.Fuzz(func(t *testing.T, theirs string) {
		w := ask(t, httpmw.Config{}, "x", granting(detail), newRequest("GET", "/"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Ratelimit"] = []string{theirs}
			w.WriteHeader(200)
		})
		lines := w.Header()["Ratelimit"]
		if len(lines) == 0 || lines[0] != theirs {
			t.Fatalf("%q became %q", theirs, lines)
		}
		was, err := httpsfv.UnmarshalList([]string{theirs})
		if err != nil || len(was) == 0 && len(lines) == 1 {
			return
		}
		is, err := httpsfv.UnmarshalList(lines)
		if err != nil {
			t.Fatalf("%q became %q: %v", theirs, lines, err)
		}
		named := false
		for _, m := range was {
			item, ok := m.(httpsfv.Item)
			named = named || ok && (item.Value == "per-caller" || item.Value == httpsfv.Token("per-caller"))
		}
		want := len(was)
		if !named {
			want++
		}
		if len(is) != want || len(was) > 0 && !reflect.DeepEqual([]httpsfv.Member(is[:len(was)]), []httpsfv.Member(was)) {
			t.Fatalf("%q became %q", theirs, lines)
		}
	})
}

// FuzzTimeout reads any timeout: none, or one between nothing and an hour.
func FuzzTimeout(f *testing.F) {
	for _, s := range []string{"250", "250ms", "1.5s", "5m", "99999999H", "-1", "1e9s", "0x10", "", ".", "1_000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"X-Request-Timeout", "Grpc-Timeout"} {
			r := newRequest("GET", "/")
			r.Header[name] = []string{text}
			q, _ := described(t, httpmw.Config{Propagation: httpmw.Propagation{TimeoutHeader: name}}, r)
			if left := time.Duration(q.Deadline - q.Now); q.Deadline != 0 && (left < 0 || left > time.Hour) {
				t.Fatalf("%s %q: %v", name, text, left)
			}
		}
	})
}
