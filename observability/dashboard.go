package observability

import (
	"iter"
	"slices"
)

// Dashboard is one screen of panels.
type Dashboard struct {
	UID   string // of its address in Grafana: /d/UID
	Name  string // one word; the file's, too
	Title string
	About string // what it answers, in a sentence or two
	Rows  []Row
}

// Row is panels under one heading.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is one chart.
type Panel struct {
	Title   string // unique in its dashboard
	About   string // what to read from it
	Kind    Kind
	Unit    Unit
	Queries []Query
	Steps   []Step // thresholds, rising; none: no colours
	Min     *float64
	Max     *float64
}

// Query is one expression of a panel.
type Query struct {
	Expr   string // in PromQL, with Grafana's variables: $job, $instance, $__rate_interval
	Legend string // with labels as {{label}}
}

// Kind is how a panel draws. The zero value is lines over time.
type Kind uint8

// The kinds.
const (
	Lines   Kind = iota
	Stacked      // lines that add up
	Number       // the last value of each series
	States       // a band for each series, coloured by the thresholds
)

// Unit is what an axis counts. The zero value is a plain number.
type Unit uint8

// The units.
const (
	Plain     Unit = iota
	PerSecond      // requests or events a second
	Seconds
	Share // 0 … 1, shown in per cent
	Bytes
)

// Step is a threshold: from this value on, a colour.
type Step struct {
	From   float64
	Colour Colour
}

// Colour is how a threshold looks.
type Colour string

// The colours.
const (
	Green  Colour = "green"
	Yellow Colour = "yellow"
	Red    Colour = "red"
)

// The dashboards' uids.
const (
	FleetUID    = "plimsoll-fleet"
	IncidentUID = "plimsoll-incident"
	WorkerUID   = "plimsoll-worker"
	StoreUID    = "plimsoll-store"
)

// Dashboards is all of them, in the order in which people open them.
func Dashboards() []Dashboard {
	list := []Dashboard{fleetDashboard, incidentDashboard, workerDashboard, storeDashboard}
	for i := range list {
		list[i].Rows = slices.Clone(list[i].Rows)
	}
	return list
}

// Across is how many panels of the row stand beside each other.
func (r *Row) Across() int {
	if len(r.Panels) > 4 {
		return 3
	}
	return len(r.Panels)
}

// Panels is every panel, row by row.
func (d *Dashboard) Panels() iter.Seq[*Panel] {
	return func(yield func(*Panel) bool) {
		for _, row := range d.Rows {
			for i := range row.Panels {
				if !yield(&row.Panels[i]) {
					return
				}
			}
		}
	}
}
