package observability

var storeDashboard = Dashboard{
	UID: StoreUID, Name: "store", Title: "Plimsoll / Store",
	About: "Does the store answer in time, what is decided without it, and is there room in the tables?",
	Rows: []Row{
		{"Does it answer", []Panel{
			{
				Title: "State of the store", Kind: States, Steps: rising(1, 2),
				About:   "By each worker's breaker: 0 ok, 1 degraded, 2 down.",
				Queries: []Query{q(`plimsoll_store_state{$on}`, "{{instance}} {{driver}}")},
			},
			{
				Title: "Time of the store", Unit: Seconds, Min: share[0],
				About:   "How long requests waited for it: at most store.budget, and what a busy scheduler adds.",
				Queries: quantiles("plimsoll_store_duration_seconds", "outcome"),
			},
			{
				Title: "Requests that asked it", Unit: PerSecond, Kind: Stacked,
				About:   "Answered and failed. What leases and memory decide asks nobody.",
				Queries: []Query{q(countRate("plimsoll_store_duration_seconds", "$on", "$rate", "outcome"), "{{outcome}}")},
			},
			{
				Title: "Calls under way", Min: share[0],
				About:   "At store.max_in_flight one more is decided without.",
				Queries: []Query{q(`plimsoll_store_under_way{$on}`, "{{instance}}")},
			},
		}},
		{"Without it", []Panel{
			{
				Title: "Calls that decided nothing", Unit: PerSecond, Kind: Stacked,
				About:   "Failed, late, skipped while it was down, or crowded out.",
				Queries: []Query{q(`sum by (kind) (rate(plimsoll_store_failures_total{$on}[$rate]))`, "{{kind}}")},
			},
			{
				Title: "Fallbacks", Unit: PerSecond, Kind: Stacked,
				About:   "Decisions by fault policies: local by this worker's share, open, or closed.",
				Queries: []Query{q(`sum by (entry, policy) (rate(plimsoll_fallbacks_total{$on}[$rate]))`, "{{entry}} {{policy}}")},
			},
			{
				Title: "Fallbacks a request", Unit: Plain, Min: share[0], Steps: rising(0.01, 0.1),
				About: "Each entry counts, so that it can be above 1. More than one in a hundred is an alert.",
				Queries: []Query{
					q(`sum by (instance) (rate(plimsoll_fallbacks_total{$on}[$rate])) / sum by (instance) (rate(plimsoll_requests_total{$on}[$rate]))`, "{{instance}}"),
				},
			},
			{
				Title: "Faults of the store", Unit: PerSecond,
				About:   "By entry.",
				Queries: []Query{q(`sum by (entry) (rate(plimsoll_faults_total{$on, entry!="", kind="store"}[$rate]))`, "{{entry}}")},
			},
		}},
		{"What is given back", []Panel{
			{
				Title: "Returns that wait", Min: share[0],
				About:   "At store.return_queue one more is dropped, and its slot ends with its lease.",
				Queries: []Query{q(`plimsoll_store_returns_queued{$on}`, "{{instance}}")},
			},
			{
				Title: "Returns out of the usual", Unit: PerSecond,
				About:   "Reclaimed for an asker that had left, dropped for want of room, or lost on the way.",
				Queries: []Query{q(`sum by (kind) (rate(plimsoll_store_returns_unusual_total{$on}[$rate]))`, "{{kind}}")},
			},
		}},
		{"Leases of hot keys", []Panel{
			{
				Title: "Keys on lease", Min: share[0],
				About:   "Keys that are asked for so often that the store lends blocks of their tokens.",
				Queries: []Query{q(`plimsoll_store_leases_keys{$on}`, "{{instance}}")},
			},
			{
				Title: "Tokens held", Min: share[0],
				About:   "Lent and not spent yet: what a worker holds back from the others.",
				Queries: []Query{q(`plimsoll_store_leases_held{$on}`, "{{instance}}")},
			},
			{
				Title: "Tokens lent and returned", Unit: PerSecond,
				About:   "What is lent and mostly returned is lent in blocks too large.",
				Queries: []Query{q(`sum by (kind) (rate(plimsoll_store_leases_tokens_total{$on}[$rate]))`, "{{kind}}")},
			},
			{
				Title: "Loans, evictions, late refunds", Unit: PerSecond,
				About:   "What leases did.",
				Queries: []Query{q(`sum by (kind) (rate(plimsoll_store_leases_events_total{$on}[$rate]))`, "{{kind}}")},
			},
		}},
		{"The table in memory", []Panel{
			{
				Title: "Keys against the bound", Min: share[0],
				About:   "Beyond the bound keys share a state.",
				Queries: []Query{q(`plimsoll_store_keys{$on}`, "{{instance}}"), q(`max(plimsoll_store_keys_limit{$on})`, "bound")},
			},
			{
				Title: "Forgotten and spilled", Unit: PerSecond,
				About:   "Keys dropped because they owed nothing; and claims that the shared state decided, which is an alert.",
				Queries: []Query{q(`sum(rate(plimsoll_store_keys_forgotten_total{$on}[$rate]))`, "forgotten"), q(`sum(rate(plimsoll_store_spilled_total{$on}[$rate]))`, "spilled")},
			},
		}},
	},
}
