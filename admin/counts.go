package admin

import (
	"cmp"
	"maps"
	"slices"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// Counts is what a Telemetry has counted. Its parts are read one after the other
// while requests go on.
type Counts struct {
	Classes []ClassCounts `json:"classes"` // most important first
	Entries []EntryCounts `json:"entries"` // by name
	Faults  []FaultCount  `json:"faults"`  // of no entry
}

// ClassCounts is what became of the requests of one class.
type ClassCounts struct {
	Class     priority.Class `json:"class"`
	Admitted  uint64         `json:"admitted"`
	Rejected  uint64         `json:"rejected"`
	Abandoned uint64         `json:"abandoned"` // the client left before there was an answer
}

// EntryCounts is what one entry of the plan refused.
type EntryCounts struct {
	Entry    string         `json:"entry"`
	Rejected []RefusalCount `json:"rejected"`
	Shadowed []RefusalCount `json:"shadowed"` // would have been refused, if it were enforced
	Faults   []FaultCount   `json:"faults"`
}

// RefusalCount counts refusals alike. None that is zero is listed.
type RefusalCount struct {
	Class  priority.Class `json:"class"`
	Reason string         `json:"reason"`
	Count  uint64         `json:"count"`
}

// FaultCount counts faults alike. None that is zero is listed.
type FaultCount struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"`
}

// CountsOf reads what a Telemetry has counted.
func CountsOf(t *telemetry.Telemetry) Counts {
	counts := Counts{Classes: classCounts(t), Faults: []FaultCount{}}
	entries := map[string]*EntryCounts{}
	of := func(name string) *EntryCounts {
		if entries[name] == nil {
			entries[name] = &EntryCounts{Entry: name, Rejected: []RefusalCount{}, Shadowed: []RefusalCount{}, Faults: []FaultCount{}}
		}
		return entries[name]
	}
	for _, p := range t.Points(telemetry.Refusals) {
		of(p.Labels[0]).refused(p)
	}
	for _, p := range t.Points(telemetry.Faults) {
		fault := FaultCount{p.Labels[1], uint64(p.Value)}
		switch {
		case fault.Count == 0:
		case p.Labels[0] == "":
			counts.Faults = append(counts.Faults, fault)
		default:
			e := of(p.Labels[0])
			e.Faults = append(e.Faults, fault)
		}
	}
	counts.Entries = make([]EntryCounts, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		counts.Entries = append(counts.Entries, entries[name].sorted())
	}
	return counts
}

func classCounts(t *telemetry.Telemetry) (list []ClassCounts) {
	for _, class := range slices.Backward(priority.All[:]) {
		c := ClassCounts{Class: class}
		for _, p := range t.Points(telemetry.Requests) {
			if p.Labels[0] == class.String() {
				c.add(p.Labels[1], uint64(p.Value))
			}
		}
		list = append(list, c)
	}
	return list
}

func (c *ClassCounts) add(outcome string, n uint64) {
	switch outcome {
	case "admitted":
		c.Admitted += n
	case "rejected":
		c.Rejected += n
	default:
		c.Abandoned += n
	}
}

// refused adds a point of telemetry.Refusals: entry, stage, reason, class, mode.
func (e *EntryCounts) refused(p telemetry.Point) {
	class, err := priority.Parse(p.Labels[3])
	if err != nil {
		return // none is unknown
	}
	count := RefusalCount{class, p.Labels[2], uint64(p.Value)}
	if p.Labels[4] == pipeline.Shadow.String() {
		e.Shadowed = append(e.Shadowed, count)
	} else {
		e.Rejected = append(e.Rejected, count)
	}
}

// sorted puts the most important class first.
func (e *EntryCounts) sorted() EntryCounts {
	for _, list := range [][]RefusalCount{e.Rejected, e.Shadowed} {
		slices.SortStableFunc(list, func(a, b RefusalCount) int { return cmp.Compare(b.Class, a.Class) })
	}
	return *e
}

// Sum is the number of all refusals of a list.
func Sum(list []RefusalCount) (n uint64) {
	for _, c := range list {
		n += c.Count
	}
	return n
}
