package observability

var workerDashboard = Dashboard{
	UID: WorkerUID, Name: "worker", Title: "Plimsoll / Worker",
	About: "Why one worker admits what it admits: its limit, its queue, its level, and the time that things take. Choose an instance.",
	Rows: []Row{
		{"Room", []Panel{
			{
				Title: "In flight against the limit", Min: share[0],
				About: "Requests in flight, the limit as it adapted, and as it is configured.",
				Queries: []Query{
					q(`sum by (instance) (plimsoll_workershed_in_flight{$on})`, "in flight {{instance}}"),
					q(`plimsoll_workershed_limit{$on}`, "limit {{instance}}"),
					q(`plimsoll_workershed_limit_max{$on}`, "configured {{instance}}"),
				},
			},
			{
				Title: "In flight by class", Kind: Stacked, Min: share[0],
				About:   "Who has the room.",
				Queries: []Query{q(`sum by (class) (plimsoll_workershed_in_flight{$on})`, "{{class}}")},
			},
			{
				Title: "Caps by class", Min: share[0],
				About:   "Up to which number in flight a class is admitted at once.",
				Queries: []Query{q(`min by (class) (plimsoll_workershed_cap{$on})`, "{{class}}")},
			},
			{
				Title: "Utilization and demand", Unit: Share, Min: share[0], Steps: rising(0.8, 1),
				About:   "The share of the limit that is in use, and that would be if nothing were refused.",
				Queries: []Query{q(`plimsoll_workershed_utilization_ratio{$on}`, "used {{instance}}"), q(`plimsoll_workershed_demand_ratio{$on}`, "wanted {{instance}}")},
			},
			{
				Title: "Hung requests and streams", Min: share[0],
				About:   "Requests far older than others get; and long-lived ones, which are counted apart.",
				Queries: []Query{q(`plimsoll_workershed_hung{$on}`, "hung {{instance}}"), q(`plimsoll_workershed_streams{$on}`, "streams {{instance}}")},
			},
		}},
		{"Shedding", []Panel{
			{
				Title: "Level and strain", Min: share[0], Max: new(3.0), Steps: rising(1, 2),
				About:   "0 drops nothing, 1 all of low, 2 normal too, 3 all but critical. Strain is for processors that are late.",
				Queries: []Query{q(`plimsoll_workershed_level{$on}`, "level {{instance}}"), q(`plimsoll_workershed_strain{$on}`, "strain {{instance}}")},
			},
			{
				Title: "Callers that are dropped", Unit: Share, Min: share[0], Max: share[1],
				About:   "The share of the callers of a class whose requests a worker drops.",
				Queries: []Query{q(`max by (class) (plimsoll_workershed_shed_ratio{$on})`, "{{class}}")},
			},
			{
				Title: "Refused by cause", Unit: PerSecond, Kind: Stacked,
				About:   "For the level, for want of room, or after a wait.",
				Queries: []Query{q(`sum by (cause) (rate(plimsoll_workershed_refused_total{$on}[$rate]))`, "{{cause}}")},
			},
			{
				Title: "Level held by people", Kind: States, Steps: rising(1, 2),
				About:   "1 while an override holds the level.",
				Queries: []Query{q(`plimsoll_workershed_pinned{$on}`, "{{instance}}")},
			},
		}},
		{"Waiting", []Panel{
			{
				Title: "Queued by class", Kind: Stacked, Min: share[0],
				About:   "Requests that wait for room.",
				Queries: []Query{q(`sum by (class) (plimsoll_workershed_queued{$on})`, "{{class}}")},
			},
			{
				Title: "Wait in the queue", Unit: Seconds, Min: share[0],
				About:   "By what became of those that waited. When most are refused, the queue serves nobody.",
				Queries: quantiles("plimsoll_queue_duration_seconds", "outcome"),
			},
			{
				Title: "Held by leaky buckets", Unit: Seconds, Min: share[0],
				About:   "How long requests were held for their turn, of those that were.",
				Queries: quantiles("plimsoll_delay_duration_seconds", "outcome"),
			},
			{
				Title: "Asking the store", Min: share[0],
				About:   "Requests that ask a remote store and will want room.",
				Queries: []Query{q(`sum by (class) (plimsoll_workershed_asking{$on})`, "{{class}}")},
			},
		}},
		{"Time", []Panel{
			{
				Title: "Time of decisions", Unit: Seconds, Min: share[0],
				About:   "From the arrival of a request to its decision, with every wait.",
				Queries: quantiles("plimsoll_decision_duration_seconds", "outcome"),
			},
			{
				Title: "Time of requests", Unit: Seconds, Min: share[0],
				About:   "The mean that the worker knows, and what was measured.",
				Queries: append(quantiles("plimsoll_request_duration_seconds"), q(`plimsoll_workershed_service_seconds{$on}`, "known {{instance}}")),
			},
			{
				Title: "Run queue", Unit: Seconds, Min: share[0], Steps: rising(0.005, 0.02),
				About:   "Ninth decile of how long goroutines were ready before they ran: when it rises, the processors are the bottleneck.",
				Queries: []Query{q(`plimsoll_workershed_run_queue_seconds{$on}`, "{{instance}}")},
			},
			{
				Title: "Ready to run", Min: share[0],
				About:   "Goroutines that were ready at the last tick.",
				Queries: []Query{q(`plimsoll_workershed_runnable{$on}`, "{{instance}}")},
			},
		}},
		{"The process", []Panel{
			{
				Title: "Processor", Min: share[0],
				About:   "Processors' worth of time that the process uses.",
				Queries: []Query{q(`rate(process_cpu_seconds_total{$on}[$rate])`, "{{instance}}")},
			},
			{
				Title: "Memory", Unit: Bytes, Min: share[0],
				About:   "Resident, and the heap that is in use.",
				Queries: []Query{q(`process_resident_memory_bytes{$on}`, "resident {{instance}}"), q(`go_memstats_heap_inuse_bytes{$on}`, "heap {{instance}}")},
			},
			{
				Title: "Goroutines", Min: share[0],
				About:   "A count that only grows is a leak.",
				Queries: []Query{q(`go_goroutines{$on}`, "{{instance}}")},
			},
			{
				Title: "Pushed by OTLP", Unit: PerSecond,
				About: "Batches sent and failed, and records that were given up. Empty where nothing is pushed.",
				Queries: []Query{
					q(`sum by (signal, outcome) (rate(plimsoll_otlp_exports_total{$on}[$rate]))`, "{{signal}} {{outcome}}"),
					q(`sum by (signal) (rate(plimsoll_otlp_dropped_total{$on}[$rate]))`, "{{signal}} dropped"),
				},
			},
		}},
	},
}
