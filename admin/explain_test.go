package admin

import (
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// What a server would see is what was described, and what the pipeline says is
// told, shadow and overrides with it.
func TestExplain(t *testing.T) {
	var got *http.Request
	seen := true
	limit := &store.Limit{Name: "slots", Kind: store.Slots, Max: 4}
	d := newDesk(t, func(a *API) {
		a.Explain = func(q *pipeline.Request, r *http.Request) (pipeline.Explanation, bool) {
			got = r
			q.Class, q.Caller = priority.High, pipeline.Caller{Name: "secret-key", Secret: true, Source: "header"}
			refuse := pipeline.Refuse(pipeline.TooManyInFlight)
			refuse.Entry = 1
			return pipeline.Explanation{
				Decision: refuse, Detail: pipeline.Detail{Rule: "slots", RetryAfter: 2 * time.Second},
				Entries: []pipeline.Explained{
					{Entry: pipeline.Entry{Name: "trial", Mode: pipeline.Off}},
					{
						Entry: pipeline.Entry{Name: "slots", Kind: "concurrency"}, Asked: true, Decision: refuse, Detail: pipeline.Detail{Rule: "slots", RetryAfter: store.Never},
						Claims: []pipeline.Peeked{{Claim: store.Claim{Limit: limit, Cost: 1}, Grant: store.Grant{RetryAfter: 2 * time.Second}}},
					},
					{Entry: pipeline.Entry{Name: "worker", Kind: "workershed"}, Asked: true, Left: 3, Of: 9},
				},
			}, seen
		}
	})
	pinned := decoded[control.Result](t, d.call(Admin, "POST", "/v1/overrides", `{"what":"pin","set":"level","value":1,"ttl_seconds":60,"reason":"a test"}`, "If-Match: "+d.tag()))
	for deadline := time.Now().Add(10 * time.Second); !d.api.Control.Effects().DefaultPin.Set(); {
		if time.Now().After(deadline) {
			t.Fatal("the pin never holds")
		}
	}
	body := `{"method":"POST","host":"shop","path":"/pay?x=1","headers":{"x-caller":["ann","bob"]},"address":"192.0.2.7"}`
	w := d.call(Viewer, "POST", "/v1/explain", body)
	schemas(t)("Explained", w)
	out := decoded[Explained](t, w)
	if got.Method != "POST" || got.Host != "shop" || got.URL.Path != "/pay" || got.URL.RawQuery != "x=1" || got.RemoteAddr != "192.0.2.7:1" || len(got.Header["X-Caller"]) != 2 {
		t.Errorf("described as %v %v %v %v %v", got.Method, got.Host, got.URL, got.RemoteAddr, got.Header)
	}
	s := out.Stages
	switch {
	case out.Admitted || out.Stage != "slots" || out.Reason != "too-many-in-flight" || out.RetryAfter != 2000 || out.Caller == "secret-key" || out.Class != priority.High:
		t.Errorf("got %+v", out)
	case len(s) != 3 || s[0].Answer != "not asked" || s[1].Answer != "refuse" || s[1].RetryAfter != -1 || s[2].Answer != "admit" || s[2].Left != 3:
		t.Errorf("stages: %+v", s)
	case len(s[1].Limits) != 1 || s[1].Limits[0].Of != 4 || s[1].Limits[0].Granted:
		t.Errorf("limits: %+v", s[1].Limits)
	case len(s[2].Overrides) != 1 || s[2].Overrides[0] != pinned.Override.ID:
		t.Errorf("overrides: %+v, want %s", s[2].Overrides, pinned.Override.ID)
	}
	seen = false
	if out := decoded[Explained](t, d.call(Viewer, "POST", "/v1/explain", `{"path":"/healthz"}`)); !out.Admitted || !out.Exempt || out.Reason != "" || got.Method != "GET" {
		t.Errorf("exempt: %+v", out)
	}
	want(t, d.call(Viewer, "POST", "/v1/explain", `{"path":"pay"}`), 422, "invalid")
	want(t, d.call(Viewer, "POST", "/v1/explain", `{"path":"/","method":"A B"}`), 422, "invalid")
	want(t, d.call(Viewer, "POST", "/v1/explain", `{"path":"/","address":"shop"}`), 422, "invalid")
	want(t, newDesk(t, nil).call(Viewer, "POST", "/v1/explain", `{"path":"/"}`), 503, "unavailable")
}
