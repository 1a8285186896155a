package config

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// ask is one request and the status it should get.
type ask struct {
	method, target string
	headers        []string
	want           int
}

// refuseLow is a plan that shows the class of a request: low is refused.
const refuseLow = "stages: [{stage: ratelimit, limits: [{name: none, rate: 0/s, match: {class: low}}, {name: n, rate: 0/s, match: {class: normal, path: /n}}]}]\n"

// Each key of a file does what the reference says of it.
func TestKeysHaveTheirEffect(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		asks []ask
	}{
		"rules": {refuseLow + "priority: {rules: [{class: low, match: {header: {X-Mode: 'te*'}}}, {class: low, match: {host: b.example, method: [PUT, POST]}}]}", []ask{
			{"GET", "/", nil, 200}, {"GET", "/", []string{"X-Mode", "test"}, 429}, {"GET", "/", []string{"X-Mode", "live"}, 200},
			{"PUT", "http://b.example/", nil, 429}, {"GET", "http://b.example/", nil, 200}, {"PUT", "http://a.example/", nil, 200},
		}},
		"rules by caller": {refuseLow + "priority: {rules: [{class: low, match: {caller: [alice, bob]}}]}", []ask{
			{"GET", "/", []string{"X-Api-Key", "alice"}, 429}, {"GET", "/", []string{"X-Api-Key", "carol"}, 200},
		}},
		"default": {refuseLow + "priority: {default: low, rules: []}", []ask{{"GET", "/", nil, 429}}},
		"a claim lowers": {refuseLow, []ask{
			{"GET", "/", []string{"X-Request-Criticality", "low"}, 429}, {"GET", "/n", []string{"X-Request-Criticality", "critical"}, 429},
		}},
		"no class header": {refuseLow + "priority: {class_header: none}", []ask{{"GET", "/", []string{"X-Request-Criticality", "low"}, 200}}},
		"Google's words":  {refuseLow + "priority: {class_scheme: google}", []ask{{"GET", "/", []string{"X-Request-Criticality", "SHEDDABLE"}, 429}}},
		"ceiling":         {refuseLow + "priority: {ceiling: high}", []ask{{"GET", "/n", []string{"X-Request-Criticality", "high"}, 200}}},
		"ceiling of one": {refuseLow + "priority: {ceilings: [{caller: alice, class: high}]}", []ask{
			{"GET", "/n", []string{"X-Request-Criticality", "high", "X-Api-Key", "alice"}, 200},
			{"GET", "/n", []string{"X-Request-Criticality", "high", "X-Api-Key", "bob"}, 429},
		}},
		"status": {"stages: [{stage: ratelimit, status: 503, limits: [{name: a, rate: 0/s}]}]", []ask{{"GET", "/", nil, 503}}},
		"mode":   {"stages: [{stage: ratelimit, mode: off, limits: [{name: a, rate: 0/s}]}, {stage: ratelimit, name: b, mode: shadow, limits: [{name: b, rate: 0/s}]}]", []ask{{"GET", "/", nil, 200}}},
		"exempt": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 0/s}]}]\nexempt: {match: [{method: GET, path: /healthz}]}", []ask{
			{"GET", "/healthz", nil, 200}, {"POST", "/healthz", nil, 429}, {"GET", "/", nil, 429},
		}},
		"overrides": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 0/s, overrides: [{caller: alice, rate: 1/day}, {caller: bob, unlimited: true}]}]}]", []ask{
			{"GET", "/", []string{"X-Api-Key", "alice"}, 200}, {"GET", "/", []string{"X-Api-Key", "alice"}, 429},
			{"GET", "/", []string{"X-Api-Key", "bob"}, 200}, {"GET", "/", []string{"X-Api-Key", "bob"}, 200}, {"GET", "/", nil, 429},
		}},
		"a burst alone": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 1/day, overrides: [{caller: alice, burst: 2}]}]}]", []ask{
			{"GET", "/", []string{"X-Api-Key", "alice"}, 200}, {"GET", "/", []string{"X-Api-Key", "alice"}, 200}, {"GET", "/", []string{"X-Api-Key", "alice"}, 429},
		}},
		"cost by path": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 10/day, cost: {/big: 8, /free: 0}}]}]", []ask{
			{"GET", "/big", nil, 200}, {"GET", "/big", nil, 429}, {"GET", "/", nil, 200}, {"GET", "/", nil, 200}, {"GET", "/", nil, 429}, {"GET", "/free", nil, 200},
		}},
		"cost by number": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 10/day, cost: 6}]}]", []ask{{"GET", "/", nil, 200}, {"GET", "/", nil, 429}}},
		"cost by header": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 10/day, cost: {header: X-Cost}}]}]", []ask{{"GET", "/costly", nil, 200}, {"GET", "/", nil, 429}}},
		"a key of nobody": {"stages: [{stage: ratelimit, limits: [{name: a, key: [], rate: 1/day}]}]", []ask{
			{"GET", "/", []string{"X-Api-Key", "alice"}, 200}, {"GET", "/", []string{"X-Api-Key", "bob"}, 429},
		}},
		"a key of a header": {"stages: [{stage: ratelimit, limits: [{name: a, key: [header:X-Tenant], rate: 1/day}]}]", []ask{
			{"GET", "/", []string{"X-Tenant", "a"}, 200}, {"GET", "/", []string{"X-Tenant", "b"}, 200}, {"GET", "/", []string{"X-Tenant", "a"}, 429},
		}},
		"attempts": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 2/day, charge: attempts}]}, {stage: concurrency, limits: [{name: a, max: 0}]}]", []ask{
			{"GET", "/", nil, 429}, {"GET", "/", nil, 429}, {"GET", "/", nil, 429},
		}},
		"a fixed window": {"stages: [{stage: ratelimit, limits: [{name: a, rate: 2/day, algorithm: fixed-window}]}]", []ask{
			{"GET", "/", nil, 200}, {"GET", "/", nil, 200}, {"GET", "/", nil, 429},
		}},
		"max of nothing": {"stages: [{stage: concurrency, limits: [{name: a, max: 0, overrides: [{caller: alice, max: 1}, {caller: bob, unlimited: true}]}]}]", []ask{
			{"GET", "/", nil, 429}, {"GET", "/", []string{"X-Api-Key", "alice"}, 200}, {"GET", "/", []string{"X-Api-Key", "bob"}, 200},
		}},
		"shares of nothing": {"stages: [{stage: workershed, shares: {low: 0, normal: 0, high: 0}, max_wait: 0s, exempt: [/probe/]}]\npriority: {rules: [{class: critical, match: {path: /pay}}]}", []ask{
			{"GET", "/", nil, 503}, {"GET", "/pay", nil, 200}, {"GET", "/probe/x", nil, 200},
		}},
		"class caps of nothing": {"stages: [{stage: fleetshed, capacity: 10, class_caps: {low: 0, normal: 0, high: 0}}]", []ask{{"GET", "/", nil, 503}}},
		"another source": {"identity: {caller: [header:X-Key]}\nstages: [{stage: ratelimit, limits: [{name: a, rate: 1/day}]}]", []ask{
			{"GET", "/", []string{"X-Key", "a"}, 200}, {"GET", "/", []string{"X-Key", "b"}, 200}, {"GET", "/", []string{"X-Key", "a"}, 429},
		}},
		"trusted proxies": {"identity: {caller: [address], trusted_proxies: [192.0.2.0/24]}\nstages: [{stage: ratelimit, limits: [{name: a, rate: 1/day}]}]", []ask{
			{"GET", "/", []string{"X-Forwarded-For", "10.0.0.1"}, 200}, {"GET", "/", []string{"X-Forwarded-For", "10.0.0.2"}, 200}, {"GET", "/", []string{"X-Forwarded-For", "10.0.0.1"}, 429},
		}},
		"forwarded": {"identity: {caller: [address], trusted_proxies: [192.0.2.0/24], forwarded: forwarded}\nstages: [{stage: ratelimit, limits: [{name: a, rate: 1/day}]}]", []ask{
			{"GET", "/", []string{"Forwarded", "for=10.0.0.1"}, 200}, {"GET", "/", []string{"Forwarded", "for=10.0.0.2"}, 200}, {"GET", "/", []string{"X-Forwarded-For", "10.0.0.3"}, 200}, {"GET", "/", nil, 429},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := protect(t, c.file).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/costly" {
					w.Header().Set("X-Cost", "10")
				}
				w.WriteHeader(http.StatusOK)
			}))
			for i, a := range c.asks {
				if w := serve(h, a.method, a.target, a.headers...); w.Code != a.want {
					t.Errorf("request %d, %s %s %v: %d, want %d\n%s", i, a.method, a.target, a.headers, w.Code, a.want, w.Body)
				}
			}
		})
	}
}

func TestRateLimitFieldsFollowTheFile(t *testing.T) {
	for word, header := range map[string]string{"draft-11": "Ratelimit", "draft-12": "Ratelimit", "legacy": "Ratelimit-Limit", "none": ""} {
		h := protect(t, bucket("10/day", 10)+"\nresponse: {ratelimit_fields: "+word+"}").Wrap(okay)
		w := serve(h, "GET", "/")
		if got := w.Header().Get("Ratelimit") + w.Header().Get("Ratelimit-Limit"); (got == "") != (header == "") || header != "" && w.Header().Get(header) == "" {
			t.Errorf("%s: %v", word, w.Header())
		}
	}
}

func TestSubjectOfACertificate(t *testing.T) {
	spiffe, err := url.Parse("spiffe://example/pay")
	if err != nil {
		t.Fatal(err)
	}
	for want, leaf := range map[string]*x509.Certificate{
		"spiffe://example/pay": {URIs: []*url.URL{spiffe}, DNSNames: []string{"a"}},
		"pay.example":          {DNSNames: []string{"pay.example"}, Subject: pkix.Name{CommonName: "x"}},
		"Pay":                  {Subject: pkix.Name{CommonName: "Pay"}},
		"":                     {},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}
		if got, ok := certificateSubject(r); got != want || ok != (want != "") {
			t.Errorf("got %q, want %q", got, want)
		}
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
		if got, ok := certificateSubject(r); ok {
			t.Errorf("a certificate that nobody verified names %q", got)
		}
	}
	if _, ok := certificateSubject(httptest.NewRequest(http.MethodGet, "/", nil)); ok {
		t.Error("a request without TLS has a subject")
	}
}

// Every good file builds, and an entry of its plan says what the file says.
func TestGoodFilesBuild(t *testing.T) {
	for _, name := range fixtures(t, "good/*.yml") {
		f, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Build(f, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range b.Plan.Len() {
			e, s := b.Plan.Entry(i), &f.Stages[i]
			want := pipeline.Entry{Name: s.Label(), Kind: string(s.Kind), Mode: s.Mode, OnFault: s.OnFault, Stage: e.Stage}
			if e != want {
				t.Errorf("%s: entry %d is %+v, want %+v", name, i, e, want)
			}
		}
	}
}
