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
	{"the walk", []step{
		{"pipeline", "Pipeline.Acquire"},
		{"pipeline", "Pipeline.begin"},
		{"pipeline", "Pipeline.walk"},
		{"pipeline", "Pipeline.look"},
		{"pipeline", "Pipeline.claim"},
		{"pipeline", "Pipeline.ask"},
		{"store", "Guard.Claim"},
		{"pipeline", "Pipeline.judge"},
		{"pipeline", "Pipeline.take"},
	}},
}
