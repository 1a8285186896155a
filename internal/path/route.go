package main

import "strings"

// leg is a part of the way, printed under its title.
type leg struct {
	title string
	steps []step
}

// step is a function on the way: its package and its name, Type.Method for a
// method.
type step struct{ dir, name string }

// call is the name that a caller uses.
func (s step) call() string { return s.name[strings.LastIndexByte(s.name, '.')+1:] }

// route is the decision path: an HTTP request that is admitted by four stages
// on the memory store. This list is the one place to change when it moves.
var route = []leg{
	{"the edge and the walk: from the request to the verdict", []step{
		{"middleware/httpmw", "Middleware.serve"},
		{"middleware/httpmw", "settings.describe"},
		{"pipeline", "Pipeline.Acquire"},
		{"pipeline", "Pipeline.begin"},
		{"pipeline", "Pipeline.walk"},
		{"pipeline", "Pipeline.look"},
		{"pipeline", "Pipeline.collect"},
		{"pipeline", "Pipeline.claim"},
		{"pipeline", "Pipeline.ask"},
		{"pipeline", "Pipeline.claimOf"},
		{"pipeline", "Pipeline.judge"},
		{"pipeline", "Pipeline.take"},
	}},
	{"what the four stages answer", []step{
		{"stages/ratelimit", "Stage.Look"},
		{"stages/ratelimit", "Stage.Claims"},
		{"stages/concurrency", "Stage.Look"},
		{"stages/concurrency", "Stage.Claims"},
		{"stages/fleetshed", "Stage.Look"},
		{"stages/fleetshed", "Stage.Take"},
		{"stages/workershed", "Stage.Look"},
		{"stages/workershed", "Stage.Take"},
	}},
	{"what the memory store does", []step{
		{"store", "Guard.Remembers"},
		{"store", "Guard.Claim"},
		{"store/memstore", "Store.Claim"},
		{"store/memstore", "Store.grantAll"},
		{"store/memstore", "Store.findAll"},
		{"store/memstore", "grant.lock"},
		{"store/memstore", "Store.grantOne"},
		{"store/memstore", "Store.grantSlot"},
		{"limit", "GCRA.Pass"},
	}},
}
