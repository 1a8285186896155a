package main

import (
	"fmt"
	"strings"
)

// target is what a figure must reach: by itself, or as a ratio to another one
// of the same round.
type target struct {
	what  string
	name  string // of the benchmark
	to    string // of the one that it is divided by; none when empty
	unit  string
	bound float64
	least bool // the bound is the least, else the most
}

var targets = []target{
	{"decisions a second, 64 callers", hot64 + ours, "", "decisions/s", 60_000, true},
	{"Redis CPU of a decision, 64 callers, µs", hot64 + ours, "", serverCPU, 13, false},
	{"decisions a second, 64 callers, against redis_rate", hot64 + ours, hot64 + "redis_rate", "decisions/s", 2.8, true},
	{"decisions a second, 64 callers, against ulule", hot64 + ours, hot64 + "ulule", "decisions/s", 1.6, true},
	{"p99, 64 callers, against redis_rate", hot64 + ours, hot64 + "redis_rate", "p99-us", 0.6, false},
	{"decisions a second, one caller, against plain EVALSHA", "Redis/bucket/callers=1/" + ours, "Redis/bucket/callers=1/evalsha", "decisions/s", 0.95, true},
	{"Redis CPU of a bucket and a slot, against a bucket", "Redis/bucket-and-slot/callers=64/" + ours, hot64 + ours, serverCPU, 1.7, false},
	{"Redis CPU of three limits and a slot, against a bucket", "Redis/three-limits-and-slot/callers=64/" + ours, hot64 + ours, serverCPU, 2, false},
	{"Redis CPU of giving back a slot, µs", "Redis/give-back-slot/" + ours, "", serverCPU, 5, false},
	{"Redis CPU of a decision on a leased key, µs", "Redis/hot-keys-paced/" + ours, "", serverCPU, 1, false},
	{"the same with small blocks, µs", "Redis/hot-keys-paced/plimsoll-small-blocks", "", serverCPU, 1, false},
	{"p50 of a decision on a leased key, µs", "Redis/hot-keys-paced/" + ours, "", "p50-us", 1, false},
	{"calls of Redis a request for the fleet", "Redis/fleet/" + ours, "", "calls/op", 0.01, false},
}

const hot64 = "Redis/bucket/callers=64/"

// renderTargets writes what was reached of what a work must reach; nothing for
// a work without targets.
func renderTargets(page *strings.Builder, work string, rounds []round) {
	var rows strings.Builder
	for _, t := range targets {
		if got := t.reached(rounds); got > 0 && strings.HasPrefix(t.name, work+"/") {
			fmt.Fprintf(&rows, "| %s | %s | %s |%s\n", t.what, t.text(), short(got), t.verdict(got))
		}
	}
	if rows.Len() > 0 {
		fmt.Fprintf(page, "\n### %s: targets\n\n| | target | seen | |\n|---|---:|---:|---|\n%s", work, rows.String())
	}
}

// reached is the median of the rounds; 0 if no round has it.
func (t *target) reached(rounds []round) float64 {
	var seen []float64
	for _, r := range rounds {
		v, divisor := r.result[t.name][t.unit], 1.0
		if t.to != "" {
			divisor = r.result[t.to][t.unit]
		}
		if v > 0 && divisor > 0 {
			seen = append(seen, v/divisor)
		}
	}
	return median(seen)
}

func (t *target) text() string {
	if t.least {
		return "≥ " + short(t.bound)
	}
	return "≤ " + short(t.bound)
}

func (t *target) verdict(got float64) string {
	if t.least == (got >= t.bound) || got == t.bound {
		return " reached |"
	}
	return " missed |"
}
