package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// words are a command's words; what differs from call to call is one word.
func words(line string) (list []string) {
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		switch {
		case strings.HasPrefix(w, "$") || w == "ID" || w == "RECORD" || w == "DECISION-ID" || w == "CALLER" || w == "crawler" || w == "c":
			w = "…"
		case strings.HasPrefix(w, "unix://"):
			w = "unix://…"
		}
		list = append(list, w)
	}
	return list
}

// within reports whether a list has the words of another in their order.
func within(list, other []string) bool {
	for _, w := range other {
		i := slices.Index(list, w)
		if i < 0 {
			return false
		}
		list = list[i+1:]
	}
	return true
}

// Every command of the runbook is run by a script, word by word; a script may
// add words, such as --yes.
func TestTheRunbookIsRun(t *testing.T) {
	if run := words("plimsoll shed --below high --yes"); within(run, words("plimsoll shed --below low")) || within(run, words("plimsoll --yes shed")) {
		t.Fatal("any command passes for run")
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var run [][]string
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range regexp.MustCompile(`(?m)^(?:exec|exits \d) (plimsoll .*)$`).FindAllStringSubmatch(string(text), -1) {
			run = append(run, words(line[1]))
		}
	}
	book, err := os.ReadFile("../../docs/incident.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?m)^(plimsoll .*)$|`(plimsoll [a-z]+[^`]*'[^`]*)`").FindAllStringSubmatch(string(book), -1)
	if len(commands) < 20 {
		t.Fatalf("the runbook has %d commands", len(commands))
	}
	for _, c := range commands {
		want := words(c[1] + c[2])
		if !slices.ContainsFunc(run, func(line []string) bool { return within(line, want) }) {
			t.Errorf("no script runs %s", c[1]+c[2])
		}
	}
}
