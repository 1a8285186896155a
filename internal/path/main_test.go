package main

import (
	"io"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/internal/deptest"
)

func TestRouteIsTrue(t *testing.T) {
	if err := write(io.Discard, load(t), route); err != nil {
		t.Error(err)
	}
}

// TestRouteNotices plants a function that has gone and one that nobody calls.
func TestRouteNotices(t *testing.T) {
	err := write(io.Discard, load(t), []leg{{"planted", []step{
		{"pipeline", "Pipeline.walk"},
		{"pipeline", "Pipeline.look"},
		{"pipeline", "Pipeline.gone"},
		{"pipeline", "New"},
	}}})
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{"no function Pipeline.gone", "pipeline.New is called by nothing"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not found: %s, in:\n%s", want, err)
		}
	}
}

func load(t *testing.T) *deptest.Tree {
	t.Helper()
	tree, err := deptest.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
