package telemetry

var ofWorkers = []Definition{
	{
		Name: WorkerLimit, Type: GaugeType, Unit: "{request}", Labels: []string{"entry"},
		Help: "Room for requests in flight on this worker, as it adapted.",
	},
	{
		Name: WorkerLimitMax, Type: GaugeType, Unit: "{request}", Labels: []string{"entry"},
		Help: "Room for requests in flight on this worker, as it is configured.",
	},
	{
		Name: WorkerCap, Type: GaugeType, Unit: "{request}", Labels: []string{"entry", "class"},
		Help: "Requests in flight up to which a class is admitted at once on this worker.",
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
		Name: WorkerAsking, Type: GaugeType, Unit: "{request}", Labels: []string{"entry", "class"},
		Help: "Requests that ask a remote store and will want room on this worker.",
	},
	{
		Name: WorkerHung, Type: GaugeType, Unit: "{request}", Labels: []string{"entry"},
		Help: "Requests in flight on this worker that are far older than others get.",
	},
	{
		Name: WorkerStreams, Type: GaugeType, Unit: "{stream}", Labels: []string{"entry"},
		Help: "Long-lived requests on this worker, which are counted apart.",
	},
	{
		Name: WorkerLevel, Type: GaugeType, Unit: "{class}", Labels: []string{"entry"},
		Help: "Level of the slow layer: 0 drops nothing, 1 all of low, 2 all of normal too, 3 all but critical.",
	},
	{
		Name: WorkerStrain, Type: GaugeType, Unit: "{class}", Labels: []string{"entry"},
		Help: "Level for processors that are late, on the same scale.",
	},
	{
		Name: WorkerPinned, Type: GaugeType, Unit: "{entry}", Labels: []string{"entry"},
		Help: "Is 1 while an operator holds the level.",
	},
	{
		Name: WorkerShed, Type: GaugeType, Unit: "1", Labels: []string{"entry", "class"},
		Help: "Share of the callers whose requests this worker drops.",
	},
	{
		Name: WorkerRefused, Unit: "{request}", Labels: []string{"entry", "class", "cause"},
		Help: "Requests that a worker shed refused: for its level, for want of room, or after a wait.",
	},
	{
		Name: WorkerUtilization, Type: GaugeType, Unit: "1", Labels: []string{"entry"},
		Help: "Share of the worker's limit that was in use in the last seconds.",
	},
	{
		Name: WorkerDemand, Type: GaugeType, Unit: "1", Labels: []string{"entry"},
		Help: "Share of the worker's limit that would be in use if nothing were refused.",
	},
	{
		Name: WorkerRunQueue, Type: GaugeType, Unit: "s", Labels: []string{"entry"},
		Help: "Ninth decile of how long goroutines were ready before they ran, in the last tick.",
	},
	{
		Name: WorkerRunnable, Type: GaugeType, Unit: "{goroutine}", Labels: []string{"entry"},
		Help: "Goroutines that were ready to run at the last tick.",
	},
	{
		Name: WorkerService, Type: GaugeType, Unit: "s", Labels: []string{"entry"},
		Help: "Mean time that requests take on this worker; 0 while it is not known.",
	},
}

var ofFleets = []Definition{
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
		Name: FleetWorkers, Type: GaugeType, Unit: "{worker}", Labels: []string{"state"},
		Help: "Workers of the fleet by the last heartbeat: live, stale for lack of one, or drained as they shut down.",
	},
	{
		Name: FleetCapacity, Type: GaugeType, Unit: "{request}",
		Help: "Requests that the fleet can have in flight; 0 while no worker knows.",
	},
	{
		Name: FleetUsage, Type: GaugeType, Unit: "{request}", Labels: []string{"class"},
		Help: "Requests in flight in the fleet, by the last heartbeat.",
	},
	{
		Name: FleetDemand, Type: GaugeType, Unit: "{request}", Labels: []string{"class"},
		Help: "Requests that would be in flight in the fleet if nothing were refused.",
	},
	{
		Name: FleetLease, Type: GaugeType, Unit: "{request}",
		Help: "Requests that are not critical which the fleet lets this worker have in flight.",
	},
	{
		Name: FleetLeaseRemaining, Type: GaugeType, Unit: "s",
		Help: "Time until this worker's lease ends; below 0 it has ended, and the worker goes by itself.",
	},
	{
		Name: FleetBeatsMissed, Type: GaugeType, Unit: "{beat}",
		Help: "Heartbeats in a row that the fleet did not answer.",
	},
	{
		Name: FleetLowTrust, Type: GaugeType, Unit: "{fleet}",
		Help: "Is 1 while many workers fell silent at once, so that the capacity is held up.",
	},
	{
		Name: FleetLearning, Type: GaugeType, Unit: "{fleet}",
		Help: "Is 1 while the fleet's store is too young to know every worker.",
	},
	{
		Name: FleetGeneration, Type: GaugeType, Unit: "{change}",
		Help: "Generation of the control state, by the last heartbeat.",
	},
}
