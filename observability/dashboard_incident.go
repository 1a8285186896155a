package observability

var incidentDashboard = Dashboard{
	UID: IncidentUID, Name: "incident", Title: "Plimsoll / Incident",
	About: "Who is refused now, by what and why; what people changed; and what is broken.",
	Rows: []Row{
		{"What is refused", []Panel{
			{
				Title: "Refused by class", Unit: PerSecond, Kind: Stacked,
				About:   "Requests that were answered with a refusal.",
				Queries: []Query{q(`sum by (class) (rate(plimsoll_requests_total{$on, outcome="rejected"}[$rate]))`, "{{class}}")},
			},
			{
				Title: "Refused by reason", Unit: PerSecond, Kind: Stacked,
				About:   "Limits are about callers: rate-limited, too-many-in-flight. Sheds are about room: fleet-shed, worker-shed, queue-timeout. People: operator-shed, caller-blocked.",
				Queries: []Query{q(`sum by (reason) (rate(plimsoll_refusals_total{$on, mode="enforce"}[$rate]))`, "{{reason}}")},
			},
			{
				Title: "Refused by entry", Unit: PerSecond,
				About:   "Which entry of the plan said no.",
				Queries: []Query{q(`sum by (entry, class) (rate(plimsoll_refusals_total{$on, mode="enforce"}[$rate]))`, "{{entry}} {{class}}")},
			},
			{
				Title: "Would have been refused", Unit: PerSecond,
				About:   "By entries in shadow: what enforcing them would refuse.",
				Queries: []Query{q(`sum by (entry) (rate(plimsoll_refusals_total{$on, mode="shadow"}[$rate]))`, "{{entry}}")},
			},
		}},
		{"What people changed", []Panel{
			{
				Title: "Overrides", Kind: States, Steps: rising(1, 1000),
				About:   "Overrides that are in force, as dry runs, or pending, by kind. None of a kind is not shown.",
				Queries: []Query{q(`max by (kind, state) (plimsoll_overrides{$on}) > 0`, "{{kind}} {{state}}")},
			},
			{
				Title: "Overrides end in", Unit: Seconds, Kind: Lines, Min: share[0],
				About:   "The first of each kind. What it held back comes then.",
				Queries: []Query{q(`min by (kind) (plimsoll_overrides_remaining_seconds{$on})`, "{{kind}}")},
			},
			{
				Title: "Without effect", Kind: States, Steps: rising(1, 1),
				About:   "Overrides in force that do nothing on a worker.",
				Queries: []Query{q(`plimsoll_overrides_unmet{$on}`, "{{instance}}")},
			},
			{
				Title: "Modes of entries", Kind: States,
				About:   "How many workers have an entry in each mode: a reader sees at once who is in shadow or off.",
				Queries: []Query{q(`sum by (entry, mode) (plimsoll_entry_mode{$on} == 1)`, "{{entry}} {{mode}}")},
			},
			{
				Title: "Configuration and control", Kind: States, Steps: good(1),
				About:   "0 while a file is refused; 0 while overrides cannot be read or made to hold.",
				Queries: []Query{q(`min by (instance) (plimsoll_config_ok{$on})`, "config {{instance}}"), q(`min by (instance) (plimsoll_control_ok{$on})`, "control {{instance}}")},
			},
			{
				Title: "Configurations read", Kind: Lines, Min: share[0],
				About:   "Files that were applied and refused, and the generation that runs.",
				Queries: []Query{q(`sum by (outcome) (plimsoll_config_reloads_total{$on})`, "{{outcome}}"), q(`max(plimsoll_config_generation{$on})`, "generation")},
			},
		}},
		{"How it feels", []Panel{
			{
				Title: "Time of requests", Unit: Seconds, Min: share[0],
				About:   "From the arrival of an admitted request to its end.",
				Queries: quantiles("plimsoll_request_duration_seconds", "class"),
			},
			{
				Title: "What became of the admitted", Unit: PerSecond, Kind: Stacked,
				About:   "Completed, dropped for overload further on, ignored for the limits, or not run.",
				Queries: []Query{q(`sum by (outcome) (rate(plimsoll_released_total{$on}[$rate]))`, "{{outcome}}")},
			},
			{
				Title: "Upstream failures", Unit: PerSecond,
				About:   "Requests that could not be forwarded, or whose answer broke off, by what failed.",
				Queries: []Query{q(`sum by (failure) (rate(plimsoll_upstream_failures_total{$on}[$rate])) > 0`, "{{failure}}")},
			},
			{
				Title: "In flight", Min: share[0],
				About:   "Requests that are held now, by worker.",
				Queries: []Query{q(`plimsoll_in_flight{$on}`, "{{instance}}")},
			},
		}},
		{"What is broken", []Panel{
			{
				Title: "Faults", Unit: PerSecond,
				About:   "Times that an entry could not decide: the store, a panic, or an entry that was switched off for its panics.",
				Queries: []Query{q(`sum by (entry, kind) (rate(plimsoll_faults_total{$on}[$rate])) > 0`, "{{entry}} {{kind}}")},
			},
			{
				Title: "State of the store", Kind: States, Steps: rising(1, 2),
				About:   "0 ok, 1 degraded, 2 down.",
				Queries: []Query{q(`plimsoll_store_state{$on}`, "{{instance}}")},
			},
			{
				Title: "Alerts", Kind: States, Steps: rising(1, 1000),
				About:   "Alerts of Plimsoll that are pending or firing. docs/alerts.md says what to do. Needs the rules.",
				Queries: []Query{{`sum by (alertname, alertstate) (ALERTS{alertname=~"Plimsoll.*"})`, "{{alertname}} {{alertstate}}"}},
			},
			{
				Title: "Refusals not logged", Unit: PerSecond,
				About:   "Refusals beyond what is logged one by one; summary lines count them.",
				Queries: []Query{q(`sum by (instance) (rate(plimsoll_log_suppressed_total{$on}[$rate]))`, "{{instance}}")},
			},
		}},
	},
}
