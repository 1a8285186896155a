package main

import (
	"slices"
	"strings"
)

// table is one kind of work: its contestants against the ways of doing it.
type table struct {
	work        string
	ways        []string
	contestants []string
	cells       map[[2]string]cell // by way and contestant
}

// cell is one contestant at one way of doing the work.
type cell struct {
	median  float64 // ns/op
	ratio   float64 // to the base of the way, median of the rounds; 0 without a base
	spread  float64 // (most − least) / median, over the rounds
	allocs  float64
	refused float64 // percent
	figures map[string]summary
}

// summary is a figure over the rounds.
type summary struct {
	median float64
	ratio  float64 // to the base's, median of the rounds; 0 without a base
}

// The bases of ratios: nothing at all where a row shows that, else ours.
const (
	nothing = "none"
	ours    = "plimsoll"
)

// tabulate takes the medians of the rounds, of the time in a unit.
func tabulate(rounds []round, unit string) (tables []*table) {
	if len(rounds) == 0 {
		return nil
	}
	byWork := map[string]*table{}
	for _, name := range rounds[0].order {
		work, way, contestant := split(name)
		t := byWork[work]
		if t == nil {
			t = &table{work: work, cells: map[[2]string]cell{}}
			byWork[work] = t
			tables = append(tables, t)
		}
		if !slices.Contains(t.ways, way) {
			t.ways = append(t.ways, way)
		}
		if !slices.Contains(t.contestants, contestant) {
			t.contestants = append(t.contestants, contestant)
		}
		t.cells[[2]string{way, contestant}] = summarize(rounds, name, unit)
	}
	return tables
}

// split takes Work/how/it/is/done/contestant apart.
func split(name string) (work, way, contestant string) {
	work, rest, _ := strings.Cut(name, "/")
	i := strings.LastIndexByte(rest, '/')
	if i < 0 {
		return work, "", rest
	}
	return work, rest[:i], rest[i+1:]
}

func summarize(rounds []round, name, unit string) cell {
	prefix := name[:strings.LastIndexByte(name, '/')+1]
	var times, ratios, allocs, refused []float64
	for _, r := range rounds {
		got, ok := r.result[name]
		if !ok {
			continue
		}
		times = append(times, got[unit])
		allocs = append(allocs, got["allocs/op"])
		refused = append(refused, got["%refused"])
		if base := r.base(prefix, unit); base > 0 {
			ratios = append(ratios, got[unit]/base)
		}
	}
	m := median(times)
	return cell{
		median: m, ratio: median(ratios), allocs: median(allocs), refused: median(refused),
		spread: (slices.Max(times) - slices.Min(times)) / m, figures: figuresOf(rounds, name, prefix),
	}
}

// figuresOf summarizes all that a benchmark reported of what the page can show.
func figuresOf(rounds []round, name, prefix string) map[string]summary {
	all := map[string]summary{}
	for _, f := range figures {
		var values, ratios []float64
		for _, r := range rounds {
			v, ok := r.result[name][f.unit]
			if !ok {
				continue
			}
			values = append(values, v)
			if base := r.base(prefix, f.unit); base > 0 {
				ratios = append(ratios, v/base)
			}
		}
		if len(values) > 0 {
			all[f.unit] = summary{median(values), median(ratios)}
		}
	}
	return all
}

// base is the time that the contestants of a way are compared with.
func (r round) base(prefix, unit string) float64 {
	for _, name := range []string{nothing, ours} {
		if base, ok := r.result[prefix+name]; ok {
			return base[unit]
		}
	}
	return 0
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
