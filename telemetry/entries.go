package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// mostEntries is how many names of entries have counts of their own in the
// life of a Telemetry: two full plans without a name in common.
const mostEntries = 64

// other is the name, and the kind, of all entries beyond those.
const other = "other"

// entryName names an entry as plans do.
type entryName struct{ name, kind string }

// entry is what one entry did.
type entry struct {
	entryName            // in UTF-8, as labels want it
	refusals  []refusals // by stripe
	faults    [faultKinds]atomic.Uint64
	fallbacks [pipeline.Closed + 1]atomic.Uint64 // by policy
}

// entries finds the counts of an entry by its name.
type entries struct {
	stripes int
	outside [faultKinds]atomic.Uint64 // faults of no entry

	known  atomic.Pointer[map[entryName]*entry] // replaced as a whole when a name comes new
	adding sync.Mutex                           // one writer of known at a time

	// places remembers whose counts were found last for an index in the plan.
	// Comparing names costs a tenth of a look into known: they are the same
	// strings until the plan changes.
	places [32]atomic.Pointer[place]
}

// place is an entry as a plan names it, with its counts.
type place struct {
	entryName
	*entry
}

// of is the counts of an entry that stands in a plan at an index.
func (s *entries) of(index uint8, name, kind string) *entry {
	key := entryName{name, kind}
	last := &s.places[int(index)%len(s.places)]
	if p := last.Load(); p != nil && p.entryName == key {
		return p.entry
	}
	e := s.all()[key]
	if e == nil {
		e = s.add(key)
	}
	last.Store(&place{key, e})
	return e
}

func (s *entries) all() map[entryName]*entry {
	if known := s.known.Load(); known != nil {
		return *known
	}
	return nil
}

// add finds the counts of a name that comes new. At the bound nothing is
// kept of it: the next time it comes here again.
func (s *entries) add(key entryName) *entry {
	s.adding.Lock()
	defer s.adding.Unlock()
	known := s.all()
	if e := known[key]; e != nil {
		return e
	}
	overflow := entryName{other, other}
	if len(known) >= mostEntries && key != overflow {
		if e := known[overflow]; e != nil {
			return e
		}
		key = overflow
	}
	more := map[entryName]*entry{}
	maps.Copy(more, known)
	more[key] = s.labelled(known, key)
	s.known.Store(&more)
	return more[key]
}

// labelled makes the counts of a name, unless another name has the same labels.
func (s *entries) labelled(known map[entryName]*entry, key entryName) *entry {
	valid := entryName{label(key.name), label(key.kind)}
	for _, e := range known {
		if e.entryName == valid {
			return e
		}
	}
	return &entry{entryName: valid, refusals: make([]refusals, s.stripes)}
}

// list is every entry once, by name.
func (s *entries) list() []*entry {
	list := slices.Collect(maps.Values(s.all()))
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
	})
	return slices.Compact(list)
}

// refused sums the refusals of one kind.
func (e *entry) refused(mode pipeline.Mode, class int, reason pipeline.Reason) (n uint64) {
	for i := range e.refusals {
		n += e.refusals[i][mode][class][reason].Load()
	}
	return n
}

// eachRefusal visits the refusals that occurred, in a fixed order.
func (e *entry) eachRefusal(visit func(pipeline.Mode, priority.Class, pipeline.Reason, uint64)) {
	for mode := range modes {
		for _, class := range priority.All {
			for reason := range pipeline.Reasons + 1 {
				if n := e.refused(mode, class.Index(), reason); n > 0 {
					visit(mode, class, reason, n)
				}
			}
		}
	}
}

// label is a text as exporters take it: in UTF-8, and not long.
func label(text string) string {
	const most = 128 // bytes
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
