package admin

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plimsoll-go/plimsoll/control"
)

// Every route of the API refuses who is not known, and whose role has not its
// right. A route that is not in the table of rights cannot be served.
func TestEveryRouteAsksWhoAsks(t *testing.T) {
	d := newDesk(t, nil)
	_, secret, err := d.api.Tokens.Create(t.Context(), "me", "ended", Admin, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	d.api.Tokens.now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	for _, line := range d.api.routes() {
		if strings.HasSuffix(line.path, "/events") {
			continue // has a test of its own: it does not end
		}
		path := strings.ReplaceAll(line.path, "{id}", "x")
		for name, header := range map[string]string{
			"no token": "X-Nothing: 1", "wrong token": "Authorization: Bearer plimsoll_wrong", "ended token": "Authorization: Bearer " + secret,
			"basic": "Authorization: Basic " + d.secrets[Admin], "bare": "Authorization: " + d.secrets[Admin], "empty": "Authorization: Bearer ",
		} {
			w := d.call(Nobody, line.method, path, "", header)
			want(t, w, 401, "unauthenticated")
			if !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s %s with %s: %v", line.method, path, name, w.Header())
			}
		}
		for _, role := range []Role{Viewer, Auditor, Responder, Admin} {
			w := d.call(role, line.method, path, "")
			if forbidden := w.Code == 403; forbidden == role.may(line.right) {
				t.Errorf("%s %s as %v: %d", line.method, path, role, w.Code)
			}
		}
	}
}

func TestRights(t *testing.T) {
	for role, rights := range map[Role][]right{
		Nobody: nil, Viewer: {reading}, Auditor: {reading, reporting, auditing}, Responder: {reading, reporting, acting},
		Admin: {reading, reporting, auditing, acting, ruling},
	} {
		for _, what := range []right{reading, reporting, auditing, acting, ruling} {
			if role.may(what) != slices.Contains(rights, what) {
				t.Errorf("%v may %d: %v", role, what, role.may(what))
			}
		}
	}
}

// Whoever guesses is slowed down, and found in the trail; the right token from
// elsewhere goes on working.
func TestGuessing(t *testing.T) {
	d := newDesk(t, nil)
	d.brake.most = 10
	for range 10 {
		want(t, d.call(Nobody, "GET", "/v1/overrides", "", "Authorization: Bearer plimsoll_guess"), 401, "unauthenticated")
	}
	w := d.call(Viewer, "GET", "/v1/overrides", "")
	want(t, w, 429, "too-many")
	if w.Header().Get("Retry-After") != "2" {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	r := httptest.NewRequest("GET", "/v1/overrides", nil)
	r.Host, r.RemoteAddr = "localhost", "198.51.100.7:1234"
	r.Header.Set("Authorization", "Bearer "+d.secrets[Viewer])
	r.Header.Set("X-Forwarded-For", "192.0.2.1") // counts for nothing
	elsewhere := httptest.NewRecorder()
	d.handler.ServeHTTP(elsewhere, r)
	if elsewhere.Code != 200 {
		t.Errorf("from elsewhere: %d", elsewhere.Code)
	}
	records, err := d.api.Control.Audit(t.Context(), 1, 10)
	if err != nil || len(records) != 1 || records[0].Subject != "login" || records[0].Actor.Source != "192.0.2.1" {
		t.Errorf("the trail is %+v, %v", records, err)
	}
}

// No request that a page of another origin can have a browser send gets
// through, and no answer can be read by one.
func TestPagesOfOtherOrigins(t *testing.T) {
	d := newDesk(t, nil)
	tag := "If-Match: " + d.tag()
	for name, header := range map[string]string{"fetch metadata": "Sec-Fetch-Site: cross-site", "origin": "Origin: https://evil.test", "null": "Origin: null"} {
		if w := d.call(Admin, "POST", "/v1/overrides", shedLow, tag, header); w.Code != 403 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	want(t, d.call(Admin, "POST", "/v1/overrides", shedLow, tag, "Content-Type: text/plain"), 415, "media-type")
	want(t, d.call(Admin, "POST", "/v1/overrides", shedLow, tag, "Content-Type: application/x-www-form-urlencoded"), 415, "media-type")
	for _, host := range []string{"evil.test", "evil.test:9901", "localhost.evil.test", "127.0.0.1.evil.test", "", "[::1", "169.254.169.254"} {
		for _, path := range []string{"/v1/overrides", "/status", "/metrics", "/healthz"} {
			w := d.call(Admin, "GET", path, "", "Host: "+host)
			if w.Code != http.StatusMisdirectedRequest {
				t.Errorf("%s as %q: %d", path, host, w.Code)
			}
		}
	}
	for _, path := range []string{"/v1/overrides", "/v1/nothing", "/v1/tokens", "/status", "/healthz"} {
		for name := range d.call(Viewer, "GET", path, "", "Origin: https://evil.test").Header() {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s answers %s", path, name)
			}
		}
	}
}

// Nothing changes by a method that browsers and crawlers use freely.
func TestReadingChangesNothing(t *testing.T) {
	d := newDesk(t, nil)
	before := d.tag()
	for _, line := range d.api.routes() {
		if line.method == "GET" {
			continue
		}
		for _, method := range []string{"GET", "HEAD"} {
			w := d.call(Admin, method, strings.ReplaceAll(line.path, "{id}", "x"), "", "If-Match: "+before)
			isRead := slices.ContainsFunc(d.api.routes(), func(o route) bool { return o.path == line.path && o.method == "GET" })
			if !isRead && w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, line.path, w.Code)
			}
		}
	}
	if d.tag() != before {
		t.Error("the document changed")
	}
}

func TestBodiesAreReadStrictly(t *testing.T) {
	d := newDesk(t, nil)
	tag := "If-Match: " + d.tag()
	for _, body := range []string{
		`{"what":"shed","what":"bypass","ttl_seconds":60,"reason":"twice"}`, `{"what":"shed","WHAT":"bypass","ttl_seconds":60,"reason":"twice"}`,
		`{"scope":{"below":"normal","Below":"critical"}}`, `{"whatever":1}`, shedLow + shedLow, shedLow + "x", `[]`, `"x"`, `{`, `{"ttl_seconds":"60"}`,
		`{"ttl_seconds":1e99}`, strings.Repeat("[", 30000), `{"a":[{"b":1,"B":2}]}`,
	} {
		want(t, d.call(Admin, "POST", "/v1/overrides", body, tag), 422, "invalid")
	}
	want(t, d.call(Admin, "POST", "/v1/overrides", strings.Repeat(" ", maxBody)+shedLow, tag), 413, "too-large")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(shedLow))
	_ = z.Close()
	want(t, d.call(Admin, "POST", "/v1/overrides", packed.String(), tag, "Content-Encoding: gzip"), 415, "media-type")
	if d.call(Admin, "POST", "/v1/tokens", `{"name":"x","role":"emperor"}`).Code != 422 {
		t.Error("a role that there is not")
	}
}

// The secret of a token is told once. Lists, trail, errors do not have it.
func TestSecretsAreToldOnce(t *testing.T) {
	d := newDesk(t, nil)
	w := d.call(Admin, "POST", "/v1/tokens", `{"name":"night shift","role":"responder","ttl_seconds":3600}`)
	made := decoded[Made](t, w)
	if w.Code != 201 || !regexp.MustCompile(`^plimsoll_[A-Za-z0-9_-]{43}$`).MatchString(made.Secret) || made.Role != Responder {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	d.secrets[Responder] = made.Secret
	if who := decoded[map[string]any](t, d.call(Responder, "GET", "/v1/whoami", "")); who["name"] != "night shift" || who["role"] != "responder" {
		t.Errorf("whoami: %v", who)
	}
	for _, path := range []string{"/v1/tokens", "/v1/audit", "/v1/overrides", "/status", "/v1/whoami", "/v1/openapi.json"} {
		if body := d.call(Admin, "GET", path, "").Body.String(); strings.Contains(body, made.Secret) || path == "/v1/tokens" && strings.Contains(body, "hash") {
			t.Errorf("%s tells it: %s", path, body)
		}
	}
	if w := d.call(Admin, "DELETE", "/v1/tokens/"+made.ID, ""); w.Code != 204 {
		t.Fatalf("revoke: %d", w.Code)
	}
	want(t, d.call(Responder, "GET", "/v1/whoami", ""), 401, "unauthenticated")
	want(t, d.call(Admin, "DELETE", "/v1/tokens/"+made.ID, ""), 404, "not-found")
	trail := decoded[Trail](t, d.call(Admin, "GET", "/v1/audit", ""))
	if len(trail.Records) != 2 || !strings.Contains(trail.Records[0].Detail, "night shift") || trail.Records[0].Actor.Name != "admin" {
		t.Errorf("the trail is %+v", trail.Records)
	}
}

func TestClientCertificates(t *testing.T) {
	d := newDesk(t, func(a *API) {
		a.Certificates = func(c *x509.Certificate) (string, Role) {
			if c.Subject.CommonName == "pager" {
				return "pager", Responder
			}
			return "", Nobody
		}
	})
	for name, c := range map[string]struct {
		verified bool
		want     int
	}{"pager": {true, 200}, "other": {true, 401}, "unverified": {false, 401}} {
		r := httptest.NewRequest("GET", "/v1/whoami", nil)
		r.Host = "localhost"
		certificate := &x509.Certificate{}
		certificate.Subject.CommonName = strings.Replace(name, "unverified", "pager", 1)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
		if c.verified {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{certificate}}
		}
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestClosedReads(t *testing.T) {
	d := newDesk(t, nil)
	if _, err := New(Config{Status: sample, Ready: func() bool { return true }, Metrics: http.NotFoundHandler(), Closed: true}); err == nil {
		t.Error("closed without anybody who could open")
	}
	h, err := New(Config{
		Status: sample, Ready: func() bool { return true }, API: d.api, Closed: true, Hosts: []string{"admin.example.test"},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	d.handler = h
	for path, nobody := range map[string]int{"/status": 401, "/metrics": 401, "/healthz": 200, "/readyz": 200} {
		if w := d.call(Nobody, "GET", path, "", "Host: admin.example.test:9901"); w.Code != nobody {
			t.Errorf("%s without a token: %d", path, w.Code)
		}
		if w := d.call(Viewer, "GET", path, "", "Host: admin.example.test"); w.Code != 200 {
			t.Errorf("%s as a viewer: %d", path, w.Code)
		}
	}
}

func TestProfilesAreForAdministratorsWhoAskedForThem(t *testing.T) {
	off := newDesk(t, nil)
	if w := off.call(Admin, "GET", "/debug/pprof/heap", ""); w.Code != http.StatusNotFound {
		t.Errorf("nobody asked for profiles: %d", w.Code)
	}
	on := newDesk(t, func(a *API) { a.Profiling = true })
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=1"} {
		for role, want := range map[Role]int{Nobody: 401, Viewer: 403, Auditor: 403, Responder: 403, Admin: 200} {
			if w := on.call(role, "GET", path, ""); w.Code != want {
				t.Errorf("%s as %v: %d, want %d", path, role, w.Code, want)
			}
		}
	}
}

// Who listens hears of a change, resumes where it was, and is let go when
// there are too many.
func TestEvents(t *testing.T) {
	d := newDesk(t, func(a *API) { a.Live = func() any { return map[string]int{"in_flight": 7} } })
	server := httptest.NewServer(d.handler)
	defer server.Close()
	listen := func(last string) (*http.Response, func() (name, id, data string)) {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/events", nil)
		r.Header.Set("Authorization", "Bearer "+d.secrets[Viewer])
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(response.Body)
		return response, func() (name, id, data string) {
			for lines.Scan() {
				field, value, _ := strings.Cut(lines.Text(), ": ")
				switch field {
				case "event":
					name = value
				case "id":
					id = value
				case "data":
					return name, id, value
				}
			}
			return "", "", ""
		}
	}
	response, next := listen("")
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	if name, id, data := next(); name != "overrides" || id == "" || !strings.Contains(data, `"version":1`) {
		t.Fatalf("first came %s %s %s", name, id, data)
	}
	if w := d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+d.tag()); w.Code != 201 {
		t.Fatal(w.Body)
	}
	seen, lives := "", 0
	for seen == "" {
		switch name, id, data := next(); {
		case name == "live":
			if lives++; data != `{"in_flight":7}` {
				t.Fatalf("live is %s", data)
			}
		case name == "overrides" && strings.Contains(data, `"version":2`):
			seen = id
		default:
			t.Fatalf("came %s %s %s", name, id, data)
		}
	}
	response.Body.Close()
	response, next = listen(seen)
	defer response.Body.Close()
	if name, _, data := next(); name != "live" {
		t.Errorf("who resumes is told again: %s %s", name, data)
	}
}

func TestTooManyStreams(t *testing.T) {
	d := newDesk(t, nil)
	for range maxStreams {
		streams <- struct{}{}
	}
	defer func() {
		for range maxStreams {
			<-streams
		}
	}()
	want(t, d.call(Viewer, "GET", "/v1/events", ""), 503, "busy")
}

// The document and the handlers are the same: every route is described and
// every description is served, and what is answered is as described.
func TestOpenAPI(t *testing.T) {
	d := newDesk(t, nil)
	var doc struct {
		OpenAPI string                                `json:"openapi"`
		Paths   map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Fatalf("%s %v", doc.OpenAPI, err)
	}
	described := map[string]bool{}
	for path, item := range doc.Paths {
		for method := range item {
			if method != "parameters" {
				described[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	router, _ := d.handler.(chi.Routes)
	served := map[string]bool{}
	_ = chi.Walk(router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(path, "/v1/") {
			served[method+" "+path] = true
		}
		return nil
	})
	for route := range served {
		if !described[route] {
			t.Errorf("%s is served and not described", route)
		}
	}
	for route := range described {
		if !served[route] {
			t.Errorf("%s is described and not served", route)
		}
	}
	made := d.call(Responder, "POST", "/v1/overrides", shedLow, "If-Match: "+d.tag())
	id := decoded[control.Result](t, made).Override.ID
	schema := schemas(t)
	schema("Result", made)
	schema("Overrides", d.call(Viewer, "GET", "/v1/overrides", ""))
	schema("Override", d.call(Viewer, "GET", "/v1/overrides/"+id, ""))
	schema("Result", d.call(Responder, "POST", "/v1/overrides/"+id+"/extend", `{"ttl_seconds":60}`, "If-Match: "+d.tag()))
	schema("Problem", d.call(Responder, "POST", "/v1/overrides", shedLow))
	schema("Problem", d.call(Responder, "POST", "/v1/overrides", `{"what":"x"}`, "If-Match: "+d.tag()))
	for _, r := range decoded[Trail](t, d.call(Auditor, "GET", "/v1/audit", "")).Records {
		body, _ := json.Marshal(r)
		schema("Record", &httptest.ResponseRecorder{Body: bytes.NewBuffer(body), Code: 200})
	}
	for _, token := range decoded[map[string][]Token](t, d.call(Admin, "GET", "/v1/tokens", ""))["tokens"] {
		body, _ := json.Marshal(token)
		schema("Token", &httptest.ResponseRecorder{Body: bytes.NewBuffer(body), Code: 200})
	}
}

// schemas checks answers against the document's schemas.
func schemas(t *testing.T) func(name string, w *httptest.ResponseRecorder) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return func(name string, w *httptest.ResponseRecorder) {
		t.Helper()
		schema, err := c.Compile("openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, w.Body)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%d %s\n%v", w.Code, fmt.Sprint(value), err)
		}
	}
}
