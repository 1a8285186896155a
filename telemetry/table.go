package telemetry

import "slices"

// definitions is every metric, subject by subject.
var definitions = slices.Concat(ofPipelines, ofProcesses, ofOverrides, ofStores, ofWorkers, ofFleets)

var ofPipelines = []Definition{
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
		Name: Fallbacks, Unit: "{fault}", Labels: []string{"entry", "policy"}, read: readFallbacks,
		Help: "Times that an entry could not decide, by the fault policy that answered in its place.",
	},
	{
		Name: DecisionDuration, Type: HistogramType, Unit: "s", Labels: []string{"class", "outcome"},
		timed: timeDecisions, ladder: &decisionLadder,
		Help: "Time from the arrival of a request to its decision, waits for the store, for a leaky bucket and in the queue included.",
	},
	{
		Name: RequestDuration, Type: HistogramType, Unit: "s", Labels: []string{"class", "outcome"},
		timed: timeRequests, ladder: &requestLadder,
		Help: "Time from the arrival of an admitted request to its end.",
	},
	{
		Name: StoreDuration, Type: HistogramType, Unit: "s", Labels: []string{"class", "outcome"},
		timed: timeStore, ladder: &decisionLadder,
		Help: "Time that requests waited for a remote store, which answered or failed.",
	},
	{
		Name: DelayDuration, Type: HistogramType, Unit: "s", Labels: []string{"class", "outcome"},
		timed: timeDelay, ladder: &decisionLadder,
		Help: "Time that requests were held for their turn under a leaky bucket, of those that were, by what became of them.",
	},
	{
		Name: QueueDuration, Type: HistogramType, Unit: "s", Labels: []string{"class", "outcome"},
		timed: timeQueue, ladder: &decisionLadder,
		Help: "Time that requests waited in the worker's queue, of those that did, by what became of them.",
	},
	{
		Name: InFlight, Type: GaugeType, Unit: "{request}", read: readInFlight,
		Help: "Requests that are held now.",
	},
	{
		Name: EntryMode, Type: GaugeType, Unit: "{entry}", Labels: []string{"entry", "stage", "mode"}, read: readModes,
		Help: "Is 1 for the mode that an entry of the plan is in.",
	},
}

var ofProcesses = []Definition{
	{
		Name: Serving, Type: GaugeType, Unit: "{process}",
		Help: "Is 1 while the process takes traffic.",
	},
	{
		Name: BuildInfo, Type: GaugeType, Unit: "{process}", Labels: []string{"version", "go"},
		Help: "Is 1, with the version and that of Go.",
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
		Name: ConfigReloads, Unit: "{change}", Labels: []string{"outcome"},
		Help: "Configurations that were read, the first included: applied or refused.",
	},
	{
		Name: ConfigApplied, Type: GaugeType, Unit: "s",
		Help: "When the configuration that runs was applied, in seconds since the epoch.",
	},
	{
		Name: UpstreamFailures, Unit: "{request}", Labels: []string{"failure"},
		Help: "Requests that the proxy could not forward or whose answer broke off, by what failed.",
	},
	{
		Name: LogSuppressed, Unit: "{record}", read: readSuppressed,
		Help: "Refusals that were not logged one by one because there were too many; summary lines count them.",
	},
	{
		Name: OTLPExports, Unit: "{export}", Labels: []string{"signal", "outcome"},
		Help: "Batches of metrics, traces or logs that were pushed by OTLP: sent or failed.",
	},
	{
		Name: OTLPDropped, Unit: "{record}", Labels: []string{"signal"},
		Help: "Spans and log records that were given up because their receiver was too slow or not there.",
	},
}

var ofOverrides = []Definition{
	{
		Name: Overrides, Type: GaugeType, Unit: "{override}", Labels: []string{"kind", "state"},
		Help: "Overrides that this worker knows and that have not ended, by what they are about: in force, dry runs, or pending.",
	},
	{
		Name: OverridesUnmet, Type: GaugeType, Unit: "{override}",
		Help: "Overrides in force that have no effect on this worker.",
	},
	{
		Name: OverridesRemaining, Type: GaugeType, Unit: "s", Labels: []string{"kind"},
		Help: "Time until the first override of a kind that is in force ends by itself; none without one.",
	},
	{
		Name: ControlOK, Type: GaugeType, Unit: "{process}",
		Help: "Is 0 while overrides cannot be read where they are kept, or cannot be made to hold.",
	},
}

var ofStores = []Definition{
	{
		Name: StoreState, Type: GaugeType, Unit: "{state}", Labels: []string{"driver"},
		Help: "State of the store, by its breaker: 0 ok, 1 degraded, 2 down.",
	},
	{
		Name: StoreUnderWay, Type: GaugeType, Unit: "{call}",
		Help: "Calls that a remote store has not answered.",
	},
	{
		Name: StoreFailures, Unit: "{call}", Labels: []string{"kind"},
		Help: "Calls of a remote store that decided nothing: failed, late, skipped while it was down, or crowded out.",
	},
	{
		Name: StoreReturnsQueued, Type: GaugeType, Unit: "{return}",
		Help: "Returns that wait for a remote store.",
	},
	{
		Name: StoreReturns, Unit: "{return}", Labels: []string{"kind"},
		Help: "Returns out of the usual: reclaimed for an asker that had left, dropped for want of room, or lost on the way.",
	},
	{
		Name: StoreLeasedKeys, Type: GaugeType, Unit: "{key}",
		Help: "Keys that are asked for so often that a remote store lends blocks of their tokens.",
	},
	{
		Name: StoreLeasedTokens, Type: GaugeType, Unit: "{token}",
		Help: "Tokens that were lent and are not spent yet: what this worker holds back from the others.",
	},
	{
		Name: StoreLentTokens, Unit: "{token}", Labels: []string{"kind"},
		Help: "Tokens of leases: lent by the store, returned because they were not needed in time, or void after a reset.",
	},
	{
		Name: StoreLeases, Unit: "{event}", Labels: []string{"kind"},
		Help: "What leases did: loans asked for, keys evicted to make room for others, refunds too late for their block to be known.",
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
		Name: StoreForgotten, Unit: "{key}",
		Help: "Keys that the table in this process's memory dropped because they owed nothing.",
	},
	{
		Name: StoreSpilled, Unit: "{claim}",
		Help: "Claims that were decided by the state which keys without room in the table share.",
	},
}
