package telemetry

// Metric is the name of a definition, as OpenTelemetry writes names.
type Metric string

// The metrics of a pipeline. What each means is in Definitions and in
// docs/metrics.md.
const (
	Requests         Metric = "plimsoll.requests"
	Refusals         Metric = "plimsoll.refusals"
	Released         Metric = "plimsoll.released"
	Faults           Metric = "plimsoll.faults"
	Fallbacks        Metric = "plimsoll.fallbacks"
	DecisionDuration Metric = "plimsoll.decision.duration"
	RequestDuration  Metric = "plimsoll.request.duration"
	StoreDuration    Metric = "plimsoll.store.duration"
	DelayDuration    Metric = "plimsoll.delay.duration"
	QueueDuration    Metric = "plimsoll.queue.duration"
	InFlight         Metric = "plimsoll.in_flight"
	EntryMode        Metric = "plimsoll.entry.mode"
)

// The metrics of a process.
const (
	Serving          Metric = "plimsoll.serving"
	BuildInfo        Metric = "plimsoll.build.info"
	ConfigGeneration Metric = "plimsoll.config.generation"
	ConfigOK         Metric = "plimsoll.config.ok"
	ConfigReloads    Metric = "plimsoll.config.reloads"
	ConfigApplied    Metric = "plimsoll.config.applied.timestamp"
	UpstreamFailures Metric = "plimsoll.upstream.failures"
	LogSuppressed    Metric = "plimsoll.log.suppressed"
	OTLPExports      Metric = "plimsoll.otlp.exports"
	OTLPDropped      Metric = "plimsoll.otlp.dropped"
)

// The metrics of a store.
const (
	StoreState         Metric = "plimsoll.store.state"
	StoreUnderWay      Metric = "plimsoll.store.under_way"
	StoreFailures      Metric = "plimsoll.store.failures"
	StoreReturnsQueued Metric = "plimsoll.store.returns.queued"
	StoreReturns       Metric = "plimsoll.store.returns.unusual"
	StoreLeasedKeys    Metric = "plimsoll.store.leases.keys"
	StoreLeasedTokens  Metric = "plimsoll.store.leases.held"
	StoreLentTokens    Metric = "plimsoll.store.leases.tokens"
	StoreLeases        Metric = "plimsoll.store.leases.events"
	StoreKeys          Metric = "plimsoll.store.keys"
	StoreKeysLimit     Metric = "plimsoll.store.keys.limit"
	StoreForgotten     Metric = "plimsoll.store.keys.forgotten"
	StoreSpilled       Metric = "plimsoll.store.spilled"
)

// The metrics of a worker shed.
const (
	WorkerLimit       Metric = "plimsoll.workershed.limit"
	WorkerLimitMax    Metric = "plimsoll.workershed.limit.max"
	WorkerCap         Metric = "plimsoll.workershed.cap"
	WorkerInFlight    Metric = "plimsoll.workershed.in_flight"
	WorkerQueued      Metric = "plimsoll.workershed.queued"
	WorkerAsking      Metric = "plimsoll.workershed.asking"
	WorkerHung        Metric = "plimsoll.workershed.hung"
	WorkerStreams     Metric = "plimsoll.workershed.streams"
	WorkerLevel       Metric = "plimsoll.workershed.level"
	WorkerStrain      Metric = "plimsoll.workershed.strain"
	WorkerPinned      Metric = "plimsoll.workershed.pinned"
	WorkerShed        Metric = "plimsoll.workershed.shed"
	WorkerRefused     Metric = "plimsoll.workershed.refused"
	WorkerUtilization Metric = "plimsoll.workershed.utilization"
	WorkerDemand      Metric = "plimsoll.workershed.demand"
	WorkerRunQueue    Metric = "plimsoll.workershed.run_queue"
	WorkerRunnable    Metric = "plimsoll.workershed.runnable"
	WorkerService     Metric = "plimsoll.workershed.service"
)

// The metrics of a fleet shed, and of the fleet as this worker sees it.
const (
	FleetInFlight       Metric = "plimsoll.fleetshed.in_flight"
	FleetStreams        Metric = "plimsoll.fleetshed.streams"
	FleetRoom           Metric = "plimsoll.fleetshed.room"
	FleetReserve        Metric = "plimsoll.fleetshed.reserve"
	FleetWorkers        Metric = "plimsoll.fleet.workers"
	FleetCapacity       Metric = "plimsoll.fleet.capacity"
	FleetUsage          Metric = "plimsoll.fleet.in_flight"
	FleetDemand         Metric = "plimsoll.fleet.demand"
	FleetLease          Metric = "plimsoll.fleet.lease"
	FleetLeaseRemaining Metric = "plimsoll.fleet.lease.remaining"
	FleetBeatsMissed    Metric = "plimsoll.fleet.beats.missed"
	FleetLowTrust       Metric = "plimsoll.fleet.low_trust"
	FleetLearning       Metric = "plimsoll.fleet.learning"
	FleetGeneration     Metric = "plimsoll.fleet.control.generation"
)

// The metrics of what people change for a while.
const (
	Overrides          Metric = "plimsoll.overrides"
	OverridesUnmet     Metric = "plimsoll.overrides.unmet"
	OverridesRemaining Metric = "plimsoll.overrides.remaining"
	ControlOK          Metric = "plimsoll.control.ok"
)
