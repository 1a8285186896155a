package telemetry

import (
	"slices"
	"strings"
)

//go:generate go test -run ^TestGenerated -update .

// Metric is the name of a definition, as OpenTelemetry writes names.
type Metric string

// The metrics. What each means is in Definitions and in docs/metrics.md.
const (
	Requests         Metric = "plimsoll.requests"
	Refusals         Metric = "plimsoll.refusals"
	Released         Metric = "plimsoll.released"
	Faults           Metric = "plimsoll.faults"
	DecisionDuration Metric = "plimsoll.decision.duration"
	RequestDuration  Metric = "plimsoll.request.duration"

	InFlight  Metric = "plimsoll.in_flight"
	EntryMode Metric = "plimsoll.entry.mode"

	Serving           Metric = "plimsoll.serving"
	StoreState        Metric = "plimsoll.store.state"
	StoreKeys         Metric = "plimsoll.store.keys"
	StoreKeysLimit    Metric = "plimsoll.store.keys.limit"
	ConfigGeneration  Metric = "plimsoll.config.generation"
	ConfigOK          Metric = "plimsoll.config.ok"
	BuildInfo         Metric = "plimsoll.build.info"
	WorkerLimit       Metric = "plimsoll.workershed.limit"
	WorkerInFlight    Metric = "plimsoll.workershed.in_flight"
	WorkerQueued      Metric = "plimsoll.workershed.queued"
	WorkerStreams     Metric = "plimsoll.workershed.streams"
	WorkerShed        Metric = "plimsoll.workershed.shed"
	WorkerUtilization Metric = "plimsoll.workershed.utilization"
	WorkerRunQueue    Metric = "plimsoll.workershed.run_queue"
	FleetInFlight     Metric = "plimsoll.fleetshed.in_flight"
	FleetStreams      Metric = "plimsoll.fleetshed.streams"
	FleetRoom         Metric = "plimsoll.fleetshed.room"
	FleetReserve      Metric = "plimsoll.fleetshed.reserve"
	FleetWorkers      Metric = "plimsoll.fleet.workers"
)

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

// Given reports whether the figure comes from Config.Gauges.
func (d *Definition) Given() bool { return d.Type == GaugeType && d.read == nil }

// Definitions is every metric, in the order in which documents show them.
func Definitions() []Definition {
	list := slices.Clone(definitions[:])
	for i := range list {
		list[i].Labels = slices.Clone(list[i].Labels)
	}
	return list
}

var definitions = [...]Definition{
	{
		Name: Requests, Unit: "{request}", Labels: []string{"class", "outcome"}, read: readRequests,
		Help: "Requests that were decided: admitted, rejected, or abandoned by their client before there was an answer.",
	},
	{
		Name: Refusals, Unit: "{request}", Labels: []string{"entry", "stage", "reason", "class", "mode"}, read: readRefusals,
		Help: "Requests that an entry refused, or would have refused where the mode is shadow.",
	},
	{
		Name: Released, Unit: "{request}", Labels: []string{"class", "outcome"}, read: readReleased,
		Help: "Admitted requests that ended: completed, dropped for overload further on, ignored for the limits, or not-run.",
	},
	{
		Name: Faults, Unit: "{fault}", Labels: []string{"entry", "kind"}, read: readFaults,
		Help: "Times that an entry could not decide and its fault policy was used; no entry is the pipeline.",
	},
	{
		Name: DecisionDuration, Type: HistogramType, Unit: "s", Labels: []string{"class", "outcome"},
		timed: timeDecisions, ladder: &decisionLadder,
		Help: "Time from the arrival of a request to its decision, waits for the store and in the queue included.",
	},
	{
		Name: RequestDuration, Type: HistogramType, Unit: "s", Labels: []string{"class", "outcome"},
		timed: timeRequests, ladder: &requestLadder,
		Help: "Time from the arrival of an admitted request to its end.",
	},
	{
		Name: InFlight, Type: GaugeType, Unit: "{request}", read: readInFlight,
		Help: "Requests that are held now.",
	},
	{
		Name: EntryMode, Type: GaugeType, Unit: "{entry}", Labels: []string{"entry", "stage", "mode"}, read: readModes,
		Help: "Is 1 for the mode that an entry of the plan is in.",
	},
	{
		Name: Serving, Type: GaugeType, Unit: "{process}",
		Help: "Is 1 while the process takes traffic.",
	},
	{
		Name: StoreState, Type: GaugeType, Unit: "{state}", Labels: []string{"driver"},
		Help: "State of the store: 0 ok, 1 degraded, 2 down.",
	},
	{
		Name: StoreKeys, Type: GaugeType, Unit: "{key}",
		Help: "Keys in the table in this process's memory.",
	},
	{
		Name: StoreKeysLimit, Type: GaugeType, Unit: "{key}",
		Help: "Bound of the keys in the table in this process's memory; beyond it keys share a state.",
	},
	{
		Name: ConfigGeneration, Type: GaugeType, Unit: "{change}",
		Help: "Changes of the configuration that were applied, the first included.",
	},
	{
		Name: ConfigOK, Type: GaugeType, Unit: "{process}",
		Help: "Is 0 while the last change of the configuration is refused.",
	},
	{
		Name: BuildInfo, Type: GaugeType, Unit: "{process}", Labels: []string{"version"},
		Help: "Is 1, with the version.",
	},
	{
		Name: WorkerLimit, Type: GaugeType, Unit: "{request}", Labels: []string{"entry"},
		Help: "Room for requests in flight on this worker, as it adapted.",
	},
	{
		Name: WorkerInFlight, Type: GaugeType, Unit: "{request}", Labels: []string{"entry", "class"},
		Help: "Requests in flight on this worker, as its worker shed counts them.",
	},
	{
		Name: WorkerQueued, Type: GaugeType, Unit: "{request}", Labels: []string{"entry", "class"},
		Help: "Requests that wait for room on this worker.",
	},
	{
		Name: WorkerStreams, Type: GaugeType, Unit: "{stream}", Labels: []string{"entry"},
		Help: "Long-lived requests on this worker, which are counted apart.",
	},
	{
		Name: WorkerShed, Type: GaugeType, Unit: "1", Labels: []string{"entry", "class"},
		Help: "Share of the callers whose requests this worker drops.",
	},
	{
		Name: WorkerUtilization, Type: GaugeType, Unit: "1", Labels: []string{"entry"},
		Help: "Share of the worker's limit that was in use in the last seconds.",
	},
	{
		Name: WorkerRunQueue, Type: GaugeType, Unit: "s", Labels: []string{"entry"},
		Help: "Ninth decile of how long goroutines were ready before they ran, in the last tick.",
	},
	{
		Name: FleetInFlight, Type: GaugeType, Unit: "{request}", Labels: []string{"entry", "class"},
		Help: "Requests in flight on this worker, as its fleet shed counts them.",
	},
	{
		Name: FleetStreams, Type: GaugeType, Unit: "{stream}", Labels: []string{"entry"},
		Help: "Long-lived requests on this worker, as its fleet shed counts them.",
	},
	{
		Name: FleetRoom, Type: GaugeType, Unit: "{request}", Labels: []string{"entry"},
		Help: "Room on this worker for requests that are not critical; 0 while it is not known.",
	},
	{
		Name: FleetReserve, Type: GaugeType, Unit: "1", Labels: []string{"entry"},
		Help: "Share of the fleet that is kept free for critical requests.",
	},
	{
		Name: FleetWorkers, Type: GaugeType, Unit: "{worker}",
		Help: "Workers that live, by the last heartbeat.",
	},
}

func find(m Metric) *Definition {
	for i := range definitions {
		if definitions[i].Name == m {
			return &definitions[i]
		}
	}
	return nil
}
