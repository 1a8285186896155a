package telemetry

import (
	"slices"
	"strings"
)

//go:generate go test -run ^TestGenerated -update .

// Type is how a metric behaves. The zero value is a counter.
type Type uint8

// The types.
const (
	CounterType   Type = iota // only grows, until the process ends
	GaugeType                 // goes up and down
	HistogramType             // durations, by what they are at most
)

// String is counter, gauge or histogram.
func (t Type) String() string { return [...]string{"counter", "gauge", "histogram"}[t] }

// Definition is what a metric is. Both exporters and the document are made
// from it.
type Definition struct {
	Name   Metric
	Type   Type
	Unit   string   // by UCUM: s, 1 for a share, or what is counted, in braces
	Labels []string // names, in the order of the values
	Help   string   // one sentence

	read   func(*Telemetry) []Point // nil where it is given, and for a histogram
	timed  func(*Telemetry) []timed // of a histogram
	ladder *ladder                  // of a histogram
}

// Prometheus is the name as Prometheus has it: with the unit, and _total for
// a counter.
func (d *Definition) Prometheus() string {
	name := strings.ReplaceAll(string(d.Name), ".", "_")
	switch d.Unit {
	case "s":
		name += "_seconds"
	case "1":
		name += "_ratio"
	}
	if d.Type == CounterType {
		name += "_total"
	}
	return name
}

// Given reports whether the figure comes from Config.Sources.
func (d *Definition) Given() bool { return d.Type != HistogramType && d.read == nil }

// Definitions is every metric, in the order in which documents show them.
func Definitions() []Definition {
	list := slices.Clone(definitions)
	for i := range list {
		list[i].Labels = slices.Clone(list[i].Labels)
	}
	return list
}

func find(m Metric) *Definition {
	for i := range definitions {
		if definitions[i].Name == m {
			return &definitions[i]
		}
	}
	return nil
}
