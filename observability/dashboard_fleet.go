package observability

var fleetDashboard = Dashboard{
	UID: FleetUID, Name: "fleet", Title: "Plimsoll / Fleet",
	About: "Is critical traffic served, is there room, and are all workers there? The figures of the fleet are what its workers heard last.",
	Rows: []Row{
		{"The objective", []Panel{
			{
				Title: "Critical requests that failed", Unit: Share, Min: share[0], Steps: rising(0.001, 0.0144),
				About:   "The share of critical requests that found no room or no answer. The objective is 0.1 % over 30 days; at the red line somebody is woken. Needs the recording rules.",
				Queries: []Query{q(`plimsoll:critical_failures:ratio_rate5m{job=~"$job"}`, "5m {{job}}"), q(`plimsoll:critical_failures:ratio_rate1h{job=~"$job"}`, "1h {{job}}")},
			},
			{
				Title: "Burn rate", Steps: rising(1, 14.4), Min: share[0],
				About: "How many times too fast the month's budget of failures is spent: at 1 it lasts just 30 days, at 14.4 two. Needs the recording rules.",
				Queries: []Query{
					q(`plimsoll:critical_failures:ratio_rate1h{job=~"$job"} / 0.001`, "1h {{job}}"),
					q(`plimsoll:critical_failures:ratio_rate6h{job=~"$job"} / 0.001`, "6h {{job}}"),
				},
			},
			{
				Title: "Workers", Kind: Number,
				About:   "Workers that send heartbeats, that fell silent, and that said goodbye.",
				Queries: []Query{q(`max by (state) (plimsoll_fleet_workers{$on})`, "{{state}}")},
			},
			{
				Title: "Processes that serve", Kind: Number, Steps: good(1),
				About:   "Processes that are scraped and take traffic.",
				Queries: []Query{q(`sum by (job) (plimsoll_serving{$on})`, "{{job}}")},
			},
		}},
		{"Traffic", []Panel{
			{
				Title: "Offered by class", Kind: Stacked, Unit: PerSecond,
				About:   "Requests that were decided, whatever became of them.",
				Queries: []Query{q(`sum by (class) (rate(plimsoll_requests_total{$on}[$rate]))`, "{{class}}")},
			},
			{
				Title: "What became of them", Kind: Stacked, Unit: PerSecond,
				About:   "Admitted, rejected, or given up by the client before there was an answer.",
				Queries: []Query{q(`sum by (outcome) (rate(plimsoll_requests_total{$on}[$rate]))`, "{{outcome}}")},
			},
			{
				Title: "Admitted by class", Unit: Share, Min: share[0], Max: share[1], Steps: good(0.99),
				About: "The share of each class that got in. Critical is the last to fall.",
				Queries: []Query{
					q(`sum by (class) (rate(plimsoll_requests_total{$on, outcome="admitted"}[$rate])) / sum by (class) (rate(plimsoll_requests_total{$on}[$rate]))`, "{{class}}"),
				},
			},
			{
				Title: "Admitted by worker", Unit: PerSecond,
				About:   "How even the balancer is: workers of one kind should run together.",
				Queries: []Query{q(`sum by (instance) (rate(plimsoll_requests_total{$on, outcome="admitted"}[$rate]))`, "{{instance}}")},
			},
		}},
		{"Room", []Panel{
			{
				Title: "In flight against capacity", Unit: Plain, Min: share[0],
				About: "Requests in flight in the fleet, and how many there can be. Less critical classes stop where the reserve begins.",
				Queries: []Query{
					q(`sum(max by (class) (plimsoll_fleet_in_flight{$on}))`, "in flight"),
					q(`max(plimsoll_fleet_capacity{$on})`, "capacity"),
					q(`max(plimsoll_fleet_capacity{$on}) * (1 - max(plimsoll_fleetshed_reserve_ratio{$on}))`, "without the reserve"),
				},
			},
			{
				Title: "Demand by class", Kind: Stacked, Min: share[0],
				About:   "Requests that would be in flight if nothing were refused. Above the capacity for long means: add workers.",
				Queries: []Query{q(`max by (class) (plimsoll_fleet_demand{$on})`, "{{class}}")},
			},
			{
				Title: "In flight by class", Kind: Stacked, Min: share[0],
				About:   "As the workers' fleet sheds count them.",
				Queries: []Query{q(`sum by (class) (plimsoll_fleetshed_in_flight{$on})`, "{{class}}")},
			},
			{
				Title: "Room for less critical requests", Min: share[0],
				About:   "What the fleet lets each worker have in flight, and what it lets itself have.",
				Queries: []Query{q(`plimsoll_fleet_lease{$on}`, "lease {{instance}}"), q(`plimsoll_fleetshed_room{$on}`, "room {{instance}}")},
			},
			{
				Title: "Streams", Min: share[0],
				About:   "Long-lived requests, which have bounds of their own.",
				Queries: []Query{q(`sum by (instance) (plimsoll_fleetshed_streams{$on})`, "{{instance}}")},
			},
		}},
		{"Do they hear each other", []Panel{
			{
				Title: "Time left of the lease", Unit: Seconds, Steps: []Step{{-1, Red}, {0, Green}},
				About:   "Below 0 a worker has not heard the fleet for three heartbeats, and goes by itself.",
				Queries: []Query{q(`plimsoll_fleet_lease_remaining_seconds{$on}`, "{{instance}}")},
			},
			{
				Title: "Heartbeats missed", Min: share[0], Steps: rising(1, 3),
				About:   "In a row.",
				Queries: []Query{q(`plimsoll_fleet_beats_missed{$on}`, "{{instance}}")},
			},
			{
				Title: "Low trust, learning", Kind: States, Steps: rising(1, 2),
				About:   "1 while many workers fell silent at once, so that the capacity is held up; and while the store is too young to know every worker.",
				Queries: []Query{q(`max by (job) (plimsoll_fleet_low_trust{$on})`, "low trust {{job}}"), q(`max by (job) (plimsoll_fleet_learning{$on})`, "learning {{job}}")},
			},
			{
				Title: "Generation of the control state", Min: share[0],
				About:   "One that stays behind does not hear what people change.",
				Queries: []Query{q(`plimsoll_fleet_control_generation{$on}`, "{{instance}}")},
			},
		}},
		{"What runs", []Panel{
			{
				Title: "Versions", Kind: Number,
				About:   "Processes by the version of Plimsoll and of Go.",
				Queries: []Query{q(`count by (version, go) (plimsoll_build_info{$on})`, "{{version}} {{go}}")},
			},
			{
				Title: "Age of the configuration", Unit: Seconds, Min: share[0],
				About:   "How long ago what runs was applied; the lines fall together when a change reaches all.",
				Queries: []Query{q(`time() - plimsoll_config_applied_timestamp_seconds{$on}`, "{{instance}}")},
			},
		}},
	},
}
