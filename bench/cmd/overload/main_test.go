package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryFaultIsOneSentence: what was wrong, and what is allowed.
func TestEveryFaultIsOneSentence(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"":                                  "say one of: tour, run",
		"turn":                              `no command "turn": say one of`,
		"tour -frob":                        "not defined: -frob; overload tour -h lists",
		"tour -repeats x":                   `invalid value "x" for flag -repeats`,
		"tour E1-3x":                        `options only, got "E1-3x"`,
		"tour -repeats -1":                  "-repeats must be 0 or more, got -1",
		"tour -repeats 0":                   "needs -add",
		"tour -anew":                        "needs -add",
		"tour -at-once 0":                   "-at-once must be 1 or more, got 0",
		"tour -experiments E9":              `no experiment is named "E9", allowed: all, E1-2x`,
		"tour -contestants plimsoll,nobody": `no contestant is named "nobody", allowed: all, plimsoll`,
		"tour -out " + file + "/sub":        "the folder cannot be made",
		"run -experiment E9":                `no experiment is named "E9", allowed: E1-2x`,
		"run -contestant nobody":            `no contestant is named "nobody", allowed: plimsoll`,
		"run -setting huge":                 `no setting of plimsoll is named "huge", allowed: `,
		"run E1-3x":                         `options only, got "E1-3x"`,
		"serve -experiment E9":              `no experiment is named "E9"`,
		"list all":                          `options only, got "all"`,
		"torture -subjects nobody":          `no subject is named "nobody", allowed: all, plimsoll`,
		"torture -out " + file:              "the folder cannot be made",
		"fleet -out " + file:                "the folder cannot be made",
		"draw -out " + filepath.Join(dir, "nowhere"): "nowhere/results.json: no such file",
	} {
		if got := fault(t, strings.Fields(words)); !strings.Contains(got, want) {
			t.Errorf("overload %s: %q, want %q in it", words, got, want)
		}
	}
}

// TestResultsThatAreBrokenAreNotDrawn: nor are the tables beside them replaced.
func TestResultsThatAreBrokenAreNotDrawn(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "{", "[]", "null", "{}", `{"Machine":"m","Results":[null]}`, `{"Machine":"m","Tried":[null]}`, `{"Machine":3}`} {
		if err := os.WriteFile(filepath.Join(dir, results), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, words := range [][]string{{"draw", "-out", dir}, {"tour", "-add", "-out", dir}} {
			if got := fault(t, words); !strings.Contains(got, "results.json") || !strings.Contains(got, "choose another folder") {
				t.Errorf("%s of %q: %q", words[0], text, got)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v (%v)", left, err)
	}
}

func TestHelpIsNoFault(t *testing.T) {
	for _, name := range []string{"tour", "run", "torture", "fleet", "draw", "list"} {
		if err := command(t.Context(), []string{name, "-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s -h: %v", name, err)
		}
	}
}

func TestNamesStandOnceAndWithoutBlanks(t *testing.T) {
	all := []string{"a", "b c", "d"}
	for list, want := range map[string]string{"": "a|b c|d", "all": "a|b c|d", " b c, a,,a": "b c|a", ",": "a|b c|d"} {
		if got, err := named("thing", list, all); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %q, %v", list, got, err)
		}
	}
}

// fault is what a command says that must fail: in one line.
func fault(t *testing.T, words []string) string {
	t.Helper()
	err := command(t.Context(), words, io.Discard)
	if err == nil {
		t.Fatalf("overload %v: no error", words)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("overload %v: %q is more than a line", words, err)
	}
	return err.Error()
}
