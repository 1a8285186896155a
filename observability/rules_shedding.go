package observability

import "time"

var sheddingAlerts = []Alert{
	{
		Name: "PlimsollLevelHigh", Severity: Warning, For: 15 * time.Minute, Dashboard: WorkerUID,
		Expr:        "plimsoll_workershed_level >= 2\nunless on (job, instance, entry) plimsoll_workershed_pinned == 1",
		Summary:     "A worker has shed low and normal traffic for a quarter of an hour.",
		Description: "{{ $labels.entry }} of {{ $labels.instance }} is at level {{ $value | humanize }}: this is no burst, there is too little capacity.",
		Means:       "The slow layer drops all callers of low and normal, because the worker stays overloaded without. Levels that an operator holds are not meant.",
		Look:        "Worker: demand against the limit, request time, the run queue. Fleet: is it one worker, or all?",
		Do:          "All: add workers. One: see what else runs on its machine, and whether the balancer sends it more than the others.",
	},
	{
		Name: "PlimsollQueueInVain", Severity: Warning, For: 5 * time.Minute, Dashboard: WorkerUID,
		Expr:        waits(`outcome!="admitted"`) + "\n/ " + waits("") + " > 0.5\nand " + waits("") + " > 1",
		Summary:     "Most of the requests that wait for room wait in vain.",
		Description: "{{ $value | humanizePercentage }} of the requests that wait in the queue of {{ $labels.instance }} are refused or given up in the end.",
		Means:       "The queue is saturated: it costs time and saves nobody. It is for bursts, and this is none.",
		Look:        "Worker: queued by class, wait in the queue, refused by cause.",
		Do:          "Add capacity. If requests take longer than max_wait by nature, a longer max_wait or 0s serves them better.",
	},
	{
		Name: "PlimsollHungRequests", Severity: Warning, For: 5 * time.Minute, Dashboard: WorkerUID,
		Expr:        "plimsoll_workershed_hung > 0",
		Summary:     "Requests hang.",
		Description: "{{ $value | humanize }} requests in flight on {{ $labels.instance }} are far older than others get. They hold room that nobody else gets.",
		Means:       "Something behind does not answer some requests, and no timeout ends them.",
		Look:        "The debug dump of holders: whose they are, and how old.",
		Do:          "Set proxy.timeouts.response_header, or deadlines in the service. Long-lived requests that are meant to be are streams, and counted apart.",
	},
	{
		Name: "PlimsollWorkersLost", Severity: Warning, For: time.Minute, Dashboard: FleetUID,
		Expr:        `max by (job) (plimsoll_fleet_workers{state="stale"}) > 0`,
		Summary:     "Workers fell silent without a goodbye.",
		Description: "{{ $value | humanize }} workers of {{ $labels.job }} sent no heartbeat, and had not drained.",
		Means:       "They were killed, froze, or cannot reach the store. Their capacity is not counted any more, so that the others shed earlier.",
		Look:        "Fleet: workers by state, capacity. PlimsollUnreachable says whether Prometheus misses them, too.",
		Do:          "Replace them. A worker that is taken away on purpose should be ended by SIGTERM: then it is drained, and no alarm.",
	},
	{
		Name: "PlimsollFleetLowTrust", Severity: Critical, For: time.Minute, Dashboard: FleetUID,
		Expr:        "max by (job) (plimsoll_fleet_low_trust) == 1",
		Summary:     "Many workers fell silent at once.",
		Description: "{{ $labels.job }} holds its capacity at half of its recent high or more, because so many workers at once are sooner a fault of the network than a loss.",
		Means:       "The fleet's capacity is a guess. If the workers are truly gone, more is admitted than the others can do, and each worker's own shed is what protects it.",
		Look:        "Fleet: workers by state. Are the silent ones scraped?",
		Do:          "If they run, mend their way to the store. If they are gone, set the capacity by an override until they are replaced.",
	},
	{
		Name: "PlimsollLeaseEnded", Severity: Warning, For: time.Minute, Dashboard: FleetUID,
		Expr:        "plimsoll_fleet_lease_remaining_seconds < 0",
		Summary:     "A worker goes by itself: the fleet does not answer it.",
		Description: "{{ $labels.instance }} has {{ $value | humanizeDuration }} left of its lease, and no heartbeat was answered since.",
		Means:       "The worker no longer knows what the others do. It admits by its own room, and by its share of shared limits.",
		Look:        "Store: state. Fleet: heartbeats missed.",
		Do:          "As for a store that is down. If the store is well, its lists of access may forbid the heartbeat: plimsoll doctor.",
	},
}

// waits is how many waits in the queue end in a second, those that a selector
// means.
func waits(selector string) string {
	return countRate("plimsoll_queue_duration_seconds", selector, "5m", "job, instance")
}
