package operator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/insight"
)

// Top is the live view of a process: what it was told, and what is drawn of it.
type Top struct {
	overrides   admin.Overrides
	last, now   *admin.Status
	heard, then time.Time // when now and last came
	heaviest    admin.Top
}

// See takes an event.
func (t *Top) See(e *Event, at time.Time) {
	switch {
	case e.Overrides != nil:
		t.overrides = *e.Overrides
	case e.Live != nil:
		t.last, t.then = t.now, t.heard
		t.now, t.heard = e.Live, at
	}
}

// Rank takes the heaviest callers and routes.
func (t *Top) Rank(h *admin.Top) { t.heaviest = *h }

// Ready reports whether two states were seen, so that there are rates.
func (t *Top) Ready() bool { return t.last != nil }

// Frame draws the view in lines of at most width characters, at most height of
// them: what comes last is left out.
func (t *Top) Frame(width, height int, at time.Time) []string {
	if t.now == nil {
		return []string{"waiting for the process"}
	}
	s := t.now
	var text strings.Builder
	fmt.Fprintf(&text, "plimsoll %s  %s for %s  %d in flight  store %s  %s\n", s.Version, s.State, span(s.Uptime), s.InFlight, s.Store.State, at.UTC().Format("15:04:05Z"))
	if w := WorkerOf(s); w != nil {
		fmt.Fprintf(&text, "worker: room for %d of %d, %.0f%% in use, %.0f%% wanted, shedding level %.2f of 3%s\n",
			w.Limit, w.MaxInFlight, 100*w.Utilization, 100*w.Demand, w.Level, w.Pace())
	}
	if s.Fleet.Live > 0 {
		fmt.Fprintf(&text, "fleet: %d live, %d silent, %d shutting down\n", s.Fleet.Live, s.Fleet.Stale, s.Fleet.Drained)
	}
	text.WriteString("\n" + t.classes() + "\n" + t.stages() + "\n" + t.inForce(at))
	text.WriteString("\n" + ranking("CALLER", &t.heaviest.Callers) + "\n" + ranking("ROUTE", &t.heaviest.Routes))
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	lines = lines[:min(len(lines), max(height, 1))]
	for i := range lines {
		lines[i] = Clip(Clean(lines[i]), width)
	}
	return lines
}

// rate is by how much a count rose in each second between the two states.
func (t *Top) rate(now, last uint64) string {
	seconds := t.heard.Sub(t.then).Seconds()
	if t.last == nil || seconds <= 0 || now < last {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(now-last)/seconds)
}

func (t *Top) classes() string {
	tab := newTable("CLASS", "ADMITTED/S", "REFUSED/S", "LEFT/S", "IN FLIGHT", "QUEUED")
	w := WorkerOf(t.now)
	for _, c := range t.now.Counts.Classes {
		var before admin.ClassCounts
		if t.last != nil {
			for _, b := range t.last.Counts.Classes {
				if b.Class == c.Class {
					before = b
				}
			}
		}
		inFlight, queued := "-", "-"
		if w != nil {
			inFlight, queued = fmt.Sprint(w.InFlight[c.Class.Index()]), fmt.Sprint(w.Queued[c.Class.Index()])
		}
		tab.row(c.Class, t.rate(c.Admitted, before.Admitted), t.rate(c.Rejected, before.Rejected), t.rate(c.Abandoned, before.Abandoned), inFlight, queued)
	}
	return tab.String()
}

func (t *Top) stages() string {
	tab := newTable("STAGE", "MODE", "REFUSED/S", "WOULD REFUSE/S", "REFUSED IN ALL")
	for _, stage := range t.now.Stages {
		now, before := entry(t.now, stage.Name), entry(t.last, stage.Name)
		tab.row(Clip(stage.Name, 24), stage.Mode, t.rate(admin.Sum(now.Rejected), admin.Sum(before.Rejected)),
			t.rate(admin.Sum(now.Shadowed), admin.Sum(before.Shadowed)), admin.Sum(now.Rejected))
	}
	return tab.String()
}

func entry(s *admin.Status, name string) admin.EntryCounts {
	if s != nil {
		for _, e := range s.Counts.Entries {
			if e.Entry == name {
				return e
			}
		}
	}
	return admin.EntryCounts{}
}

// inForce is one line for each override, no more than a few.
func (t *Top) inForce(at time.Time) string {
	list := InForce(&t.overrides, at)
	if len(list) == 0 {
		return "no overrides are in force\n"
	}
	tab := newTable("OVERRIDE", "ENDS IN", "BY", "WHAT")
	for i := range few(list) {
		o := &list[i]
		tab.row(o.ID, span(o.ExpiresAt.Sub(at)), Clip(o.Author, 12), Clip(Describe(o), 46))
	}
	text := tab.String()
	if n := len(list) - 5; n > 0 {
		text += fmt.Sprintf("and %d more\n", n)
	}
	return text
}

// ranking is who is refused and who holds most, side by side.
func ranking(head string, r *admin.Ranking) string {
	tab := newTable(head+" REFUSED MOST", "REFUSED", head+" HOLDING MOST", "SLOT-SECONDS")
	refused := slices.DeleteFunc(slices.Clone(r.ByRefusals), func(h insight.Heavy) bool { return h.Refused == 0 })
	for i := range min(5, max(len(refused), len(r.BySeconds))) {
		cells := [4]any{"", "", "", ""}
		if i < len(refused) {
			cells[0], cells[1] = Clip(refused[i].Name, 22), refused[i].Refused
		}
		if i < len(r.BySeconds) {
			cells[2], cells[3] = Clip(r.BySeconds[i].Name, 22), fmt.Sprintf("%.1f", r.BySeconds[i].Seconds)
		}
		tab.row(cells[:]...)
	}
	return tab.String()
}
