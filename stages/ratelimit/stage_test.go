package ratelimit_test

import (
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/pipeline/stagetest"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

func caller(name string) pipeline.Caller {
	return pipeline.Caller{ID: store.KeyOf("test", name), Name: name}
}

func request(method, path string) *pipeline.Request {
	return &pipeline.Request{
		Subject: match.Subject{Method: method, Path: path, Header: http.Header{}},
		Caller:  caller("alice"),
		Cost:    1,
	}
}

func owner(t testing.TB, words ...string) pipeline.Owner {
	t.Helper()
	o, err := pipeline.ParseOwner(words...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func stage(t testing.TB, limits ...ratelimit.Limit) *ratelimit.Stage {
	t.Helper()
	s, err := ratelimit.New(ratelimit.Config{Limits: limits}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// claimed is the cost that each limit would be charged, by name.
func claimed(s *ratelimit.Stage, r *pipeline.Request) map[string]int64 {
	costs := map[string]int64{}
	for _, c := range s.Claims(r, nil) {
		costs[c.Limit.Name] = c.Cost
	}
	return costs
}

func TestContract(t *testing.T) {
	stagetest.Run(t, func(t *testing.T) stagetest.Subject {
		return stagetest.Subject{
			Stage: stage(t,
				ratelimit.Limit{Name: "per-caller", Key: owner(t, "caller"), Rate: limit.Per(100, time.Second)},
				ratelimit.Limit{Name: "per-address", Key: owner(t, "address"), Rate: limit.Per(100, time.Second)},
				ratelimit.Limit{Name: "tier", Key: owner(t, "caller", "route", "class"), Rate: limit.Per(100, time.Second)},
				ratelimit.Limit{Name: "global", Rate: limit.Per(1000, time.Second)},
			),
			Request: func() *pipeline.Request { return request("GET", "/") },
		}
	})
}

func TestARequestMeetsEveryLimitThatItFits(t *testing.T) {
	s := stage(t,
		ratelimit.Limit{Name: "all", Rate: limit.Per(1, time.Second)},
		ratelimit.Limit{Name: "logins", Match: match.Rule{Path: "/login"}, Rate: limit.Per(1, time.Second)},
		ratelimit.Limit{Name: "api", Match: match.Rule{Path: "/v1/"}, Rate: limit.Per(1, time.Second)},
		ratelimit.Limit{Name: "charges", Match: match.Rule{Path: "/v1/charges", Methods: []string{"POST"}}, Rate: limit.Per(1, time.Second)},
		ratelimit.Limit{Name: "low", Classes: []priority.Class{priority.Low, priority.Normal}, Rate: limit.Per(1, time.Second)},
		ratelimit.Limit{Name: "test", Match: match.Rule{Header: map[string]string{"X-Mode": "test"}}, Rate: limit.Per(1, time.Second)},
		ratelimit.Limit{Name: "off", Unlimited: true, Rate: limit.Per(1, time.Second)},
	)
	for _, c := range []struct {
		method, path, mode string
		class              priority.Class
		want               string
	}{
		{"GET", "/", "", priority.Normal, "all low"},
		{"GET", "/", "", priority.Critical, "all"},
		{"POST", "/login", "", priority.High, "all logins"},
		{"POST", "//login", "", priority.High, "all logins"},
		{"POST", "/login/", "", priority.High, "all logins"},
		{"POST", "/a/../login", "", priority.High, "all logins"},
		{"POST", "/v1/charges", "", priority.Critical, "all api charges"},
		{"GET", "/v1/charges", "", priority.Critical, "all api"},
		{"GET", "/v1/other", "test", priority.Low, "all api low test"},
	} {
		r := request(c.method, c.path)
		r.Class = c.class
		r.Header.(http.Header).Set("X-Mode", c.mode)
		got := claimed(s, r)
		want := strings.Fields(c.want)
		for _, name := range want {
			if got[name] != 1 {
				t.Errorf("%s %s as %s: %s is not charged", c.method, c.path, c.class, name)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s %s as %s: charged %v, want %v", c.method, c.path, c.class, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	key := func(r *pipeline.Request, words ...string) store.Key {
		s := stage(t, ratelimit.Limit{Name: "x", Key: owner(t, words...), Rate: limit.Per(1, time.Second)})
		return s.Claims(r, nil)[0].Owner
	}
	base := func(change func(*pipeline.Request)) *pipeline.Request {
		r := request("GET", "/a")
		r.Address = netip.MustParseAddr("192.0.2.1")
		r.Host = "example.org"
		r.Header.(http.Header).Set("X-Tenant", "t1")
		if change != nil {
			change(r)
		}
		return r
	}
	for _, c := range []struct {
		name   string
		words  []string
		change func(*pipeline.Request)
		same   bool
	}{
		{"everybody", nil, func(r *pipeline.Request) { r.Caller = caller("bob") }, true},
		{"another caller", []string{"caller"}, func(r *pipeline.Request) { r.Caller = caller("bob") }, false},
		{"another address", []string{"address"}, func(r *pipeline.Request) { r.Address = netip.MustParseAddr("192.0.2.2") }, false},
		{"the same address mapped into IPv6", []string{"address"}, func(r *pipeline.Request) { r.Address = netip.MustParseAddr("::ffff:192.0.2.1") }, true},
		{"no address", []string{"address"}, func(r *pipeline.Request) { r.Address = netip.Addr{} }, false},
		{"another host", []string{"host"}, func(r *pipeline.Request) { r.Host = "example.net" }, false},
		{"another class", []string{"class"}, func(r *pipeline.Request) { r.Class = priority.High }, false},
		{"another header", []string{"header:X-Tenant"}, func(r *pipeline.Request) { r.Header.(http.Header).Set("X-Tenant", "t2") }, false},
		{"no header", []string{"header:X-Tenant"}, func(r *pipeline.Request) { r.Header = nil }, false},
		{"one part of two", []string{"caller", "address"}, func(r *pipeline.Request) { r.Caller = caller("bob") }, false},
	} {
		if same := key(base(nil), c.words...) == key(base(c.change), c.words...); same != c.same {
			t.Errorf("%s: counts together is %v, want %v", c.name, same, c.same)
		}
	}
	six := func(a string) *pipeline.Request { r := base(nil); r.Address = netip.MustParseAddr(a); return r }
	if key(six("2001:db8:1:2::1"), "address") != key(six("2001:db8:1:2:ffff::9"), "address") {
		t.Error("one subscriber's /64 counts as many addresses")
	}
	if key(six("2001:db8:1:2::1"), "address") == key(six("2001:db8:1:3::1"), "address") {
		t.Error("two /64 count as one")
	}
	if key(base(nil), "caller", "address") == key(base(nil), "address", "caller") {
		t.Error("the order of the parts does not matter")
	}
}

func TestCosts(t *testing.T) {
	s := stage(t,
		ratelimit.Limit{Name: "flat", Rate: limit.Per(100, time.Second), Cost: ratelimit.Cost{Tokens: 3}},
		ratelimit.Limit{Name: "routes", Rate: limit.Per(100, time.Second), Cost: ratelimit.Cost{ByRoute: map[string]int64{"/import": 10, "/free": 0}}},
	)
	for _, c := range []struct {
		path         string
		own          int64
		flat, routes int64
	}{
		{"/", 1, 3, 1},
		{"/import", 1, 3, 10},
		{"/free", 1, 3, 0},
		{"/import", 4, 12, 40},
		{"/import", math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{"/import", -1, math.MaxInt64, math.MaxInt64},
	} {
		r := request("POST", c.path)
		r.Cost = c.own
		got := claimed(s, r)
		if got["flat"] != c.flat || got["routes"] != c.routes {
			t.Errorf("%s with a cost of %d: charged %v, want %d and %d", c.path, c.own, got, c.flat, c.routes)
		}
	}
}

func TestARateOfNothingRefusesWithoutAStore(t *testing.T) {
	s := stage(t,
		ratelimit.Limit{Name: "none", Match: match.Rule{Path: "/closed"}, Rate: limit.Per(0, time.Second)},
		ratelimit.Limit{
			Name: "some", Match: match.Rule{Path: "/open"}, Rate: limit.Per(1, time.Second),
			Overrides: map[string]ratelimit.Override{"mallory": {}, "trent": {Unlimited: true}, "alice": {Rate: limit.Per(7, time.Second)}},
		},
	)
	r := request("GET", "/closed")
	if d := s.Look(r); d.Reason != pipeline.RateLimited || r.Detail.RetryAfter != store.Never || r.Detail.Rule != "none" {
		t.Errorf("got %+v with %+v", d, r.Detail)
	}
	for name, want := range map[string]struct {
		reason pipeline.Reason
		rate   int64
	}{
		"mallory": {pipeline.RateLimited, 0},
		"trent":   {pipeline.None, 0},
		"alice":   {pipeline.None, 7},
		"bob":     {pipeline.None, 1},
	} {
		r := request("GET", "/open")
		r.Caller = caller(name)
		if d := s.Look(r); d.Reason != want.reason {
			t.Errorf("%s: got %+v, want %q", name, d, want.reason)
		}
		var rate int64
		for _, c := range s.Claims(r, nil) {
			rate = c.Limit.Rate.Count
		}
		if rate != want.rate {
			t.Errorf("%s is held to %d/s, want %d", name, rate, want.rate)
		}
	}
}

func TestAllFaultsOfAConfigurationAreSaidAtOnce(t *testing.T) {
	_, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{
		{Name: "a b", Rate: limit.Per(1, time.Second)},
		{Name: "ok", Rate: limit.Per(1, time.Second), Burst: -1},
		{Name: "twice", Rate: limit.Per(1, time.Second)},
		{Name: "twice", Rate: limit.Per(1, time.Second)},
		{Name: "cost", Rate: limit.Per(1, time.Second), Cost: ratelimit.Cost{Tokens: -1}},
		{Name: "attempts", Rate: limit.Per(1, time.Second), Charge: ratelimit.Attempts},
		{Name: "method", Rate: limit.Per(1, time.Second), Match: match.Rule{Methods: []string{"FETCH"}}},
		{Name: "override", Rate: limit.Per(1, time.Second), Overrides: map[string]ratelimit.Override{"bob": {Rate: limit.Per(-5, time.Second)}}},
	}}, nil)
	if err == nil {
		t.Fatal("taken without a word")
	}
	for _, want := range []string{
		"limits[0]", `"a b"`, "limits[1]", "burst must be 1 or more", "limits[3]", `"twice" is taken`, "limits[4]", "cost must be 1 or more",
		"limits[5]", "attempts", "limits[6]", "FETCH", "limits[7]", "overrides[bob]",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestARuleOnTheCallerAloneKeepsItsConditions(t *testing.T) {
	by, rate := owner(t, "caller"), limit.Per(5, time.Second)
	s := stage(t,
		ratelimit.Limit{Name: "all", Key: by, Rate: rate},
		ratelimit.Limit{Name: "dear", Key: by, Rate: rate, Cost: ratelimit.Cost{Tokens: 3}},
		ratelimit.Limit{Name: "low", Key: by, Rate: rate, Classes: []priority.Class{priority.Low}},
		ratelimit.Limit{Name: "posts", Key: by, Rate: rate, Match: match.Rule{Methods: []string{"POST"}}},
		ratelimit.Limit{Name: "free", Key: by, Unlimited: true, Rate: rate},
	)
	for _, cost := range []int64{1, 2} {
		r := request("GET", "/")
		r.Class, r.Cost = priority.High, cost
		if got := claimed(s, r); len(got) != 2 || got["all"] != cost || got["dear"] != 3*cost {
			t.Errorf("cost %d: claims %v", cost, got)
		}
	}
}
