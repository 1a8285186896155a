package admin

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Counts is what a Tally has counted. Its parts are read one after the other
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

// Counts reads the tally.
func (t *Tally) Counts() Counts {
	counts := Counts{Entries: []EntryCounts{}, Faults: faultCounts(&t.outside)}
	for _, class := range slices.Backward(priority.All[:]) {
		counts.Classes = append(counts.Classes, ClassCounts{
			Class:    class,
			Admitted: t.admitted[class.Index()].Load(), Abandoned: t.abandoned[class.Index()].Load(),
		})
	}
	known := t.entries.Load()
	if known == nil {
		return counts
	}
	for _, name := range slices.Sorted(maps.Keys(*known)) {
		e := (*known)[name]
		entry := EntryCounts{
			Entry: name, Rejected: refusalCounts(&e.rejected), Shadowed: refusalCounts(&e.shadowed), Faults: faultCounts(&e.faults),
		}
		for _, r := range entry.Rejected {
			counts.Classes[priority.Count-1-r.Class.Index()].Rejected += r.Count
		}
		counts.Entries = append(counts.Entries, entry)
	}
	return counts
}

// Sum is the number of all refusals of a list.
func Sum(list []RefusalCount) (n uint64) {
	for _, c := range list {
		n += c.Count
	}
	return n
}

func refusalCounts(counts *[priority.Count][pipeline.Reasons]atomic.Uint64) []RefusalCount {
	list := []RefusalCount{}
	for _, class := range slices.Backward(priority.All[:]) {
		for reason := range pipeline.Reasons {
			if n := counts[class.Index()][reason].Load(); n > 0 {
				list = append(list, RefusalCount{class, reason.String(), n})
			}
		}
	}
	return list
}

func faultCounts(counts *[faultKinds]atomic.Uint64) []FaultCount {
	list := []FaultCount{}
	for kind := range faultKinds {
		if n := counts[kind].Load(); n > 0 {
			list = append(list, FaultCount{kind.String(), n})
		}
	}
	return list
}
