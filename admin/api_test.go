package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// fakeBrake lets a source fail a number of times.
type fakeBrake struct {
	mu    sync.Mutex
	most  int
	count map[string]int
}

func (b *fakeBrake) Wait(source string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count[source] >= b.most {
		return 1500 * time.Millisecond
	}
	return 0
}

func (b *fakeBrake) Failed(source string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count[source]++
	return b.count[source] == b.most
}

// flaky is a storage whose changes may get lost on the way, or their answers.
type flaky struct {
	control.Storage
	lose, deafen atomic.Bool // a change before it was made, or after
	blind        atomic.Bool // nothing can be read after such a loss
	lost         atomic.Bool
}

// fails has changes get lost before or after they are made, and then nothing
// can be read; or mends it.
func (f *flaky) fails(before, after bool) {
	f.lose.Store(before)
	f.deafen.Store(after)
	f.blind.Store(before || after)
}

func (f *flaky) Read(ctx context.Context) (state []byte, revision uint64, now int64, err error) {
	if f.blind.Load() && f.lost.Load() {
		return nil, 0, 0, errLost
	}
	return f.Storage.Read(ctx)
}

var errLost = errors.New("the connection was lost")

func (f *flaky) Swap(ctx context.Context, revision, next uint64, state, record []byte) (bool, error) {
	f.lost.Store(f.lose.Load() || f.deafen.Load())
	if f.lose.Load() {
		return false, errLost
	}
	swapped, err := f.Storage.Swap(ctx, revision, next, state, record)
	if f.deafen.Load() {
		return false, errLost
	}
	return swapped, err
}

// desk is an API with a token for each role.
type desk struct {
	t       *testing.T
	handler http.Handler
	api     *API
	storage *flaky
	secrets map[Role]string
	brake   *fakeBrake
}

func newDesk(t *testing.T, change func(*API)) *desk {
	t.Helper()
	storage := &flaky{Storage: &control.Memory{}}
	c, err := control.New(control.Config{Storage: storage, Timeout: time.Second, Policy: control.Policy{Protected: []string{"high"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	d := &desk{t: t, storage: storage, secrets: map[Role]string{}, brake: &fakeBrake{most: 1000, count: map[string]int{}}}
	d.api = &API{Control: c, Tokens: NewTokens(&control.Memory{}), Brake: d.brake}
	if change != nil {
		change(d.api)
	}
	for _, role := range []Role{Viewer, Auditor, Responder, Admin} {
		_, secret, err := d.api.Tokens.Create(t.Context(), "test", role.String(), role, 0)
		if err != nil {
			t.Fatal(err)
		}
		d.secrets[role] = secret
	}
	d.handler, err = New(Config{Status: sample, Ready: func() bool { return true }, Metrics: http.NotFoundHandler(), API: d.api})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// call asks as a role; header lines are name: value.
func (d *desk) call(role Role, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost:9901"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if role != Nobody {
		r.Header.Set("Authorization", "Bearer "+d.secrets[role])
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w
}

// tag is the version that there is.
func (d *desk) tag() string {
	return d.call(Viewer, "GET", "/v1/overrides", "").Header().Get("ETag")
}

const shedLow = `{"what":"shed","scope":{"below":"normal"},"ttl_seconds":1800,"reason":"INC-1: checkout is slow","incident":"INC-1"}`

func decoded[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return v
}

func want(t *testing.T, w *httptest.ResponseRecorder, status int, kind string) Problem {
	t.Helper()
	p := decoded[Problem](t, w)
	if w.Code != status || p.Status != status || p.Type != problemType+kind || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s %s, want %d %s", w.Code, w.Header(), w.Body, status, kind)
	}
	return p
}

func TestAnOverrideFromItsCreationToItsEnd(t *testing.T) {
	d := newDesk(t, nil)
	w := d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+d.tag())
	made := decoded[control.Result](t, w)
	if w.Code != 201 || w.Header().Get("Location") != "/v1/overrides/"+made.Override.ID || made.Override.Author != "responder" ||
		made.Override.ExpiresAt.Sub(made.Override.Created) != 30*time.Minute || w.Header().Get("ETag") != d.tag() {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	w = d.call(Responder, "POST", "/v1/overrides/"+made.Override.ID+"/extend", `{"ttl_seconds":3600}`, "If-Match: "+d.tag())
	if longer := decoded[control.Result](t, w); w.Code != 200 || longer.Override.ExpiresAt.Sub(made.Override.ExpiresAt) < 29*time.Minute {
		t.Fatalf("extend: %d %s", w.Code, w.Body)
	}
	w = d.call(Responder, "DELETE", "/v1/overrides/"+made.Override.ID, "", "If-Match: "+d.tag())
	if w.Code != 200 {
		t.Fatalf("revoke: %d %s", w.Code, w.Body)
	}
	revoked := decoded[control.Result](t, w)
	w = d.call(Responder, "POST", "/v1/undo", fmt.Sprintf(`{"seq":%d}`, revoked.Seq), "If-Match: "+d.tag())
	if w.Code != 200 {
		t.Fatalf("undo: %d %s", w.Code, w.Body)
	}
	listed := decoded[Overrides](t, d.call(Viewer, "GET", "/v1/overrides", ""))
	if listed.Version != 5 || len(listed.Overrides) != 1 || !listed.Overrides[0].Active(time.Now()) {
		t.Errorf("listed: %+v", listed)
	}
	page := decoded[Trail](t, d.call(Auditor, "GET", "/v1/audit?limit=3", ""))
	rest := decoded[Trail](t, d.call(Auditor, "GET", "/v1/audit?limit=3&cursor="+page.Next, ""))
	if len(page.Records) != 3 || len(rest.Records) != 1 || rest.Next != "" || rest.Records[0].Action != control.Undo || page.Records[0].Actor.Method != "token" || page.Records[0].RequestID == "" {
		t.Errorf("the trail is %+v, then %+v", page, rest)
	}
	if v := decoded[control.Verification](t, d.call(Admin, "GET", "/v1/audit/verify", "")); v.Records != 4 || !v.OK() {
		t.Errorf("verified: %+v", v)
	}
}

func TestAChangeMustNameTheVersion(t *testing.T) {
	d := newDesk(t, nil)
	tag := d.tag()
	want(t, d.call(Responder, "POST", "/v1/overrides", shedLow), 428, "precondition")
	for _, wrong := range []string{"*", "17", "W/" + tag, `"`, `""`, `"x-"`, tag + ", " + tag} {
		want(t, d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+wrong), 400, "invalid")
	}
	want(t, d.call(Responder, "POST", "/v1/overrides", shedLow, `If-Match: "elsewhere-1"`), 412, "stale")
	if d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+tag).Code != 201 {
		t.Fatal("the right version was refused")
	}
	p := want(t, d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+tag), 412, "stale")
	if p.Version != 2 {
		t.Errorf("told version %d", p.Version)
	}
}

// Of two who change the same version one wins, and the trail has both.
func TestTwoAtOnce(t *testing.T) {
	d := newDesk(t, nil)
	tag := d.tag()
	codes := make(chan int, 2)
	for _, role := range []Role{Responder, Admin} {
		go func() { codes <- d.call(role, "POST", "/v1/overrides", shedLow, "If-Match: "+tag).Code }()
	}
	if a, b := <-codes, <-codes; a+b != 201+412 {
		t.Fatalf("%d and %d", a, b)
	}
	trail := decoded[Trail](t, d.call(Auditor, "GET", "/v1/audit", ""))
	if len(trail.Records) != 2 || trail.Records[0].Outcome != control.Applied || trail.Records[1].Outcome != control.Stale ||
		trail.Records[0].Actor.Name == trail.Records[1].Actor.Name {
		t.Errorf("the trail is %+v", trail.Records)
	}
}

// A change whose answer got lost is not known; the same key tells, and does
// not make it twice.
func TestAnOutcomeThatIsNotKnown(t *testing.T) {
	for name, deafen := range map[string]bool{"before it was made": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			tag := d.tag()
			d.storage.fails(!deafen, deafen)
			p := want(t, d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+tag, `Idempotency-Key: "k-1"`), 504, "unknown")
			if p.Key != "k-1" {
				t.Errorf("told key %q", p.Key)
			}
			d.storage.fails(false, false)
			w := d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+tag, "Idempotency-Key: k-1")
			if w.Code != 201 {
				t.Fatalf("again: %d %s", w.Code, w.Body)
			}
			again := d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+tag, `Idempotency-Key: "k-1"`)
			if again.Code != 201 || again.Header().Get("Idempotency-Replayed") != "true" {
				t.Errorf("a third time: %d %v", again.Code, again.Header())
			}
			if l := decoded[Overrides](t, d.call(Viewer, "GET", "/v1/overrides", "")); len(l.Overrides) != 1 || l.Version != 2 {
				t.Errorf("made %d times, version %d", len(l.Overrides), l.Version)
			}
			other := strings.Replace(shedLow, "1800", "60", 1)
			want(t, d.call(Responder, "POST", "/v1/overrides", other, "If-Match: "+d.tag(), "Idempotency-Key: k-1"), 422, "key-reused")
		})
	}
}

func TestFaultsOfABodyAreAllNamed(t *testing.T) {
	d := newDesk(t, nil)
	p := want(t, d.call(Responder, "POST", "/v1/overrides", `{"what":"shed","scope":{"below":"purple"},"percent":200,"ttl_seconds":60,"reason":""}`,
		"If-Match: "+d.tag()), 422, "invalid")
	paths := map[string]bool{}
	for _, f := range p.Faults {
		paths[f.Path] = true
	}
	for _, path := range []string{"override.scope.below", "override.percent", "override.reason"} {
		if !paths[path] {
			t.Errorf("%s is not named in %+v", path, p.Faults)
		}
	}
	want(t, d.call(Responder, "POST", "/v1/overrides", strings.Replace(shedLow, "1800", "999999999", 1), "If-Match: "+d.tag()), 422, "invalid")
	want(t, d.call(Responder, "DELETE", "/v1/overrides/nothing", "", "If-Match: "+d.tag()), 404, "not-found")
	want(t, d.call(Auditor, "GET", "/v1/audit?limit=0", ""), 400, "invalid")
	want(t, d.call(Auditor, "GET", "/v1/audit?cursor=x", ""), 400, "invalid")
}

func TestProtectedClassesAreForAdministrators(t *testing.T) {
	d := newDesk(t, nil)
	shedHigh := strings.Replace(shedLow, `"normal"`, `"critical"`, 1)
	want(t, d.call(Responder, "POST", "/v1/overrides", shedHigh, "If-Match: "+d.tag()), 403, "protected")
	if w := d.call(Admin, "POST", "/v1/overrides", shedHigh, "If-Match: "+d.tag()); w.Code != 201 {
		t.Errorf("an administrator: %d %s", w.Code, w.Body)
	}
}

func TestAPreviewChangesNothing(t *testing.T) {
	d := newDesk(t, nil)
	before := d.tag()
	p := decoded[control.Preview](t, d.call(Viewer, "POST", "/v1/preview?minutes=5", shedLow))
	if p.Version != 1 || p.Override.Scope.Below != "normal" || p.Override.Author != "viewer" {
		t.Errorf("%+v", p)
	}
	want(t, d.call(Viewer, "POST", "/v1/preview", `{"what":"nothing","ttl_seconds":60,"reason":""}`), 422, "invalid")
	want(t, d.call(Viewer, "POST", "/v1/preview?minutes=11", shedLow), 400, "invalid")
	if d.tag() != before {
		t.Error("the document changed")
	}
}

// Who comes by the socket changes this worker alone, also when the fleet's
// storage is down.
func TestTheSocketIsLocal(t *testing.T) {
	d := newDesk(t, nil)
	d.storage.lose.Store(true)
	ask := func(method, path, body, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(BySocket(t.Context(), "uid 0"), method, path, strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		if tag != "" {
			r.Header.Set("If-Match", tag)
		}
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, r)
		return w
	}
	local := decoded[Overrides](t, ask("GET", "/v1/overrides", "", "")).LocalETag
	w := ask("POST", "/v1/overrides", shedLow, local)
	made := decoded[control.Result](t, w)
	if w.Code != 201 || !made.Override.LocalOnly || made.Override.Author != "uid 0" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	listed := decoded[Overrides](t, ask("GET", "/v1/overrides", "", ""))
	if len(listed.Overrides) != 0 || len(listed.Local) != 1 {
		t.Errorf("listed: %+v", listed)
	}
	want(t, ask("GET", "/v1/tokens", "", ""), 403, "forbidden")
}

// What happened lately is told of a request that was refused and of one that
// is in flight.
func TestWhatHappenedLately(t *testing.T) {
	recorder := insight.New(insight.Config{})
	refused := &pipeline.Request{Caller: pipeline.Caller{ID: store.KeyOf("batch"), Name: "batch"}, Class: priority.Low, Now: time.Now().UnixNano()}
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "all", Stage: refuser{}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Plan: plan, Observer: recorder})
	if err != nil {
		t.Fatal(err)
	}
	if p.Acquire(t.Context(), refused).Verdict == pipeline.Admit {
		t.Fatal("it was admitted")
	}
	id := refused.ID().String()
	now := time.Now()
	d := newDesk(t, func(a *API) {
		a.Insight, a.Status = recorder, sample
		a.Holders = func(int) []pipeline.Holder {
			return []pipeline.Holder{
				{Caller: "young", Class: "low", Since: now.Add(-time.Second).UnixNano()},
				{Caller: "old", Class: "low", Since: now.Add(-time.Minute).UnixNano(), Deadline: now.Add(-time.Second).UnixNano(), Gone: true},
			}
		}
	})
	schema := schemas(t)
	for path, name := range map[string]string{
		"/v1/top": "Top", "/v1/timeline": "Timeline", "/v1/decisions/" + id: "Decision", "/v1/refusals": "Refusals",
		"/v1/work": "Work", "/v1/holders": "Holders",
	} {
		schema(name, d.call(Viewer, "GET", path, ""))
	}
	got := decoded[Decided](t, d.call(Viewer, "GET", "/v1/decisions/"+id, ""))
	if got.Caller != "batch" || got.Stage != "all" || got.Reason != "worker-shed" || got.Admitted || got.Class != priority.Low {
		t.Errorf("why: %+v", got)
	}
	held := decoded[map[string][]Held](t, d.call(Viewer, "GET", "/v1/holders?limit=1", ""))["holders"]
	if len(held) != 1 || held[0].Caller != "old" || !held[0].Left || !held[0].Overdue || held[0].Seconds < 59 {
		t.Errorf("held: %+v", held)
	}
	want(t, d.call(Viewer, "GET", "/v1/decisions/nonsense", ""), 400, "invalid")
	want(t, d.call(Viewer, "GET", "/v1/decisions/"+store.ID{Hi: 1, Lo: 2}.String(), ""), 404, "not-found")
	want(t, d.call(Viewer, "GET", "/v1/refusals?limit=1001", ""), 400, "invalid")
	if w := d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+d.tag()); w.Code != 201 {
		t.Fatal(w.Body)
	}
	w := d.call(Auditor, "GET", "/v1/report?incident=INC-1", "")
	schema("Report", w)
	if r := decoded[Report](t, w); len(r.Trail) != 1 || len(r.Overrides) != 1 || r.Status == nil || len(r.Holders) != 2 {
		t.Errorf("report: %+v", r)
	}
	if r := decoded[Report](t, d.call(Auditor, "GET", "/v1/report?incident=INC-2", "")); len(r.Trail)+len(r.Overrides) != 0 {
		t.Errorf("report of another: %+v", r)
	}
}

// refuser refuses everything.
type refuser struct{}

func (refuser) Look(*pipeline.Request) pipeline.Decision {
	return pipeline.Decision{Verdict: pipeline.Reject, Reason: pipeline.WorkerShed}
}
