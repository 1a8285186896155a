package observability

import "time"

var storeAlerts = []Alert{
	{
		Name: "PlimsollStoreDown", Severity: Critical, For: 2 * time.Minute, Dashboard: StoreUID,
		Expr:        "plimsoll_store_state == 2",
		Summary:     "A worker does without its store.",
		Description: "{{ $labels.instance }} has not reached its store ({{ $labels.driver }}) for two minutes; each stage decides by its on_fault.",
		Means:       "The breaker is open. Stages of policy local limit by this worker's share, open ones admit, closed ones refuse. The worker tries again by itself.",
		Look:        "Store: state of every worker. All of them: the store; one: its network. plimsoll status says the cause, plimsoll doctor the cure.",
		Do:          "Bring the store back; nothing has to be told to the workers. While it is away, do not restart workers: they keep what they know of the fleet.",
	},
	{
		Name: "PlimsollStoreDegraded", Severity: Warning, For: 5 * time.Minute, Dashboard: StoreUID,
		Expr:        "min_over_time(plimsoll_store_state[1m]) == 1",
		Summary:     "The store does not answer everything in time.",
		Description: "{{ $labels.instance }} waits for its store ({{ $labels.driver }}) longer than store.budget, again and again.",
		Means:       "Some decisions fall back. Limits are less exact; no request waits longer than the budget.",
		Look:        "Store: time of the store against the budget, failures by kind, calls under way.",
		Do:          "plimsoll doctor: slow commands, memory, the distance. A budget below the network's round trip is never kept: raise store.budget, or come nearer.",
	},
	{
		Name: "PlimsollFallbacks", Severity: Warning, For: 5 * time.Minute, Dashboard: StoreUID,
		Expr: `sum by (job, instance) (rate(plimsoll_fallbacks_total[5m]))
/ sum by (job, instance) (rate(plimsoll_requests_total[5m])) > 0.01`,
		Summary:     "More than one decision in a hundred is made without the store.",
		Description: "{{ $labels.instance }} makes {{ $value | printf \"%.2f\" }} decisions a request by fault policies.",
		Means:       "Limits that the fleet shares are kept by each worker alone for these requests. Each entry counts, so the figure can be above 1.",
		Look:        "Store: fallbacks by policy, faults by entry, failures by kind: late, failed, skipped while it was down, or crowded out.",
		Do:          "Late: as for a store that is degraded. Crowded: raise store.max_in_flight, or see why calls take long. Skipped: as for a store that is down.",
	},
	{
		Name: "PlimsollReturnsDropped", Severity: Warning, Dashboard: StoreUID,
		Expr:        `increase(plimsoll_store_returns_unusual_total{kind="dropped"}[15m]) > 0`,
		Summary:     "Slots or tokens were not given back to the store.",
		Description: "{{ $labels.instance }} dropped {{ $value | humanize }} returns in 15 minutes, because its queue was full; their slots end with their leases.",
		Means:       "For the length of a lease the fleet has fewer slots than its limits say.",
		Look:        "Store: returns that wait, state of the store.",
		Do:          "See to the store first. If it is well, raise store.return_queue.",
	},
	{
		Name: "PlimsollTableSpilled", Severity: Warning, Dashboard: StoreUID,
		Expr:        "increase(plimsoll_store_spilled_total[15m]) > 0",
		Summary:     "The table of limits in memory is full.",
		Description: "{{ $labels.instance }} decided {{ $value | humanize }} claims in 15 minutes by a state that keys without room share.",
		Means:       "There are more callers, addresses or routes that owe something than store.max_keys. New ones share one state, and are limited together.",
		Look:        "Store: keys against their bound. plimsoll status; the debug dump of limits says which limit has the most.",
		Do:          "If it is an attack with many addresses, block by prefix in front. Else raise store.max_keys (40 bytes a key).",
	},
}
