package concurrency_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/pipeline/stagetest"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/store"
)

func request(caller, path string) *pipeline.Request {
	return &pipeline.Request{
		Subject: match.Subject{Method: "GET", Path: path},
		Caller:  pipeline.Caller{ID: store.KeyOf("test", caller), Name: caller},
	}
}

func perCaller(t testing.TB) pipeline.Owner {
	t.Helper()
	o, err := pipeline.ParseOwner("caller")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func stage(t testing.TB, limits ...concurrency.Limit) *concurrency.Stage {
	t.Helper()
	s, err := concurrency.New(concurrency.Config{Limits: limits}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	stagetest.Run(t, func(t *testing.T) stagetest.Subject {
		return stagetest.Subject{
			Stage: stage(t,
				concurrency.Limit{Name: "per-caller", Key: perCaller(t), Max: 20},
				concurrency.Limit{Name: "imports", Match: match.Rule{Path: "/import"}, Max: 2},
			),
			Request: func() *pipeline.Request { return request("alice", "/import") },
		}
	})
}

func TestSlotsByMatchCallerAndOverride(t *testing.T) {
	s := stage(t,
		concurrency.Limit{Name: "per-caller", Key: perCaller(t), Max: 20, Overrides: map[string]concurrency.Override{
			"big": {Max: 500}, "trusted": {Unlimited: true}, "blocked": {},
		}},
		concurrency.Limit{Name: "imports", Match: match.Rule{Path: "/import"}, Max: 2},
		concurrency.Limit{Name: "low", Classes: []priority.Class{priority.Low}, Max: 5},
	)
	for _, c := range []struct {
		caller, path string
		class        priority.Class
		want         map[string]int64 // limit → cap
		refused      bool
	}{
		{"alice", "/", priority.Normal, map[string]int64{"per-caller": 20}, false},
		{"alice", "/import", priority.Low, map[string]int64{"per-caller": 20, "imports": 2, "low": 5}, false},
		{"big", "/", priority.Normal, map[string]int64{"per-caller": 500}, false},
		{"trusted", "/", priority.Normal, nil, false},
		{"blocked", "/", priority.Normal, nil, true},
	} {
		r := request(c.caller, c.path)
		r.Class = c.class
		if d := s.Look(r); (d.Verdict == pipeline.Reject) != c.refused {
			t.Errorf("%s %s: the look says %+v", c.caller, c.path, d)
		}
		claims := s.Claims(r, nil)
		if len(claims) != len(c.want) {
			t.Errorf("%s %s: %d claims, want %v", c.caller, c.path, len(claims), c.want)
		}
		for _, claim := range claims {
			if claim.Limit.Max != c.want[claim.Limit.Name] || claim.Limit.Kind != store.Slots || claim.Limit.Lease != concurrency.DefaultLease {
				t.Errorf("%s %s: claims %+v", c.caller, c.path, claim.Limit)
			}
		}
	}
}

func TestStreamsHaveALimitOfTheirOwn(t *testing.T) {
	s := stage(t,
		concurrency.Limit{Name: "a", Max: 4},
		concurrency.Limit{Name: "b", Max: 4, MaxStreams: 7, Lease: 3 * time.Second},
	)
	claims := s.StreamClaims(request("alice", "/"), nil)
	if len(claims) != 2 || claims[0].Limit.Max != 20 || claims[1].Limit.Max != 7 || claims[1].Limit.Lease != 3*time.Second {
		t.Errorf("got %+v", claims)
	}
	for i, short := range s.Claims(request("alice", "/"), nil) {
		if short.Limit.ID == claims[i].Limit.ID {
			t.Error("streams share the state of short requests")
		}
	}
}

func TestAllFaultsOfAConfigurationAreSaidAtOnce(t *testing.T) {
	_, err := concurrency.New(concurrency.Config{Limits: []concurrency.Limit{
		{Name: "", Max: 1},
		{Name: "negative", Max: -1},
		{Name: "lease", Max: 1, Lease: time.Millisecond},
		{Name: "twice", Max: 1},
		{Name: "twice", Max: 1},
		{Name: "method", Max: 1, Match: match.Rule{Methods: []string{"FETCH"}}},
		{Name: "override", Max: 1, Overrides: map[string]concurrency.Override{"bob": {Max: -3}}},
	}}, nil)
	if err == nil {
		t.Fatal("taken without a word")
	}
	for _, want := range []string{"limits[0]", "limits[1]", "1 or more", "limits[2]", "lease", "limits[4]", `"twice" is taken`, "limits[5]", "limits[6]", "overrides[bob]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestARuleOnTheCallerAloneKeepsItsConditions(t *testing.T) {
	low := []priority.Class{priority.Low}
	s := stage(t,
		concurrency.Limit{Name: "all", Key: perCaller(t), Max: 20},
		concurrency.Limit{Name: "low", Key: perCaller(t), Classes: low, Max: 5},
		concurrency.Limit{Name: "posts", Key: perCaller(t), Match: match.Rule{Methods: []string{"POST"}}, Max: 5},
		concurrency.Limit{Name: "free", Key: perCaller(t), Unlimited: true},
	)
	r := request("alice", "/")
	r.Class = priority.High
	if claims := s.Claims(r, nil); len(claims) != 1 || claims[0].Limit.Name != "all" || claims[0].Owner != r.Caller.ID || claims[0].Cost != 1 {
		t.Errorf("claims %+v, want one of all", claims)
	}
}
