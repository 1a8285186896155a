package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A File that a program changed is held to the same rules, without positions.
func TestValidateFindsWhatAProgramBroke(t *testing.T) {
	for path, break1 := range map[string]func(f *File){
		"version":                           func(f *File) { f.Version = 0 },
		"listen":                            func(f *File) { f.Listen = "" },
		"upstream":                          func(f *File) { f.Upstream = "ftp://x" },
		"store.budget":                      func(f *File) { f.Store.Budget = time.Minute },
		"store.driver":                      func(f *File) { f.Store.Driver = "papyrus" },
		"server.grace":                      func(f *File) { f.Server.Grace = -1 },
		"identity.caller":                   func(f *File) { f.Identity.Caller = make([]Source, 9) },
		"identity.ipv6_prefix":              func(f *File) { f.Identity.IPv6Prefix = 129 },
		"priority.class_header":             func(f *File) { f.Priority.ClassHeader = "a b" },
		"stages[0].status":                  func(f *File) { f.Stages[0].Status = 451 },
		"stages[0].name":                    func(f *File) { f.Stages[0].Name = "a b" },
		"stages[0].limits[0].burst":         func(f *File) { f.Stages[0].RateLimit.Limits[0].Burst = -1 },
		"stages[1].limits[0].max":           func(f *File) { *f.Stages[1].Concurrency.Limits[0].Max = -1 },
		"stages[2].reserve":                 func(f *File) { f.Stages[2].FleetShed.Reserve = 1 },
		"stages[3].shares.low":              func(f *File) { f.Stages[3].WorkerShed.Shares.Low = -1 },
		"stages[3].exempt[0]":               func(f *File) { f.Stages[3].WorkerShed.Exempt = []Pattern{"x"} },
		"priority.rules[0].match.method[1]": func(f *File) { f.Priority.Rules[0].Match.Methods[1] = "PUSH" },
		"admin.listen":                      func(f *File) { f.Admin.Listen = f.Listen },
	} {
		f := Default()
		break1(f)
		problems, ok := errors.AsType[Errors](f.Validate())
		if !ok || problems[0].Path != path || problems[0].Line != 0 {
			t.Errorf("%s: got %v", path, problems)
		}
	}
}

// The parts of a Stage that its kind does not have, or lacks, are found.
func TestValidateFindsStagesWithoutTheirPart(t *testing.T) {
	f := Default()
	f.Stages[0].RateLimit = nil
	f.Stages[2].WorkerShed = &WorkerShedStage{}
	err := f.Validate()
	if err == nil || !strings.Contains(err.Error(), "stages[0]") || !strings.Contains(err.Error(), "stages[2]") {
		t.Errorf("got %v", err)
	}
}

func TestProblemsReadWell(t *testing.T) {
	for want, p := range map[string]Problem{
		"a.yml:3:7: log.level: wrong": {File: "a.yml", Line: 3, Column: 7, Path: "log.level", Message: "wrong"},
		"a.yml: wrong":                {File: "a.yml", Message: "wrong"},
		"log.level: wrong":            {Path: "log.level", Message: "wrong"},
		"environment: X: wrong":       {File: "environment", Path: "X", Message: "wrong"},
		"wrong":                       {Message: "wrong"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
