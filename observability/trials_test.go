package observability

// trial is what an alert must fire at, and at what it must not. A series is
// its name and labels, a space, and its values minute by minute in promtool's
// notation. All are of one process unless they say otherwise.
type trial struct {
	fires  []string
	at     string            // when it must have fired
	labels map[string]string // beside its severity
	says   string            // its description then

	quiet    []string // here it must not
	quietFor string   // until then at least; default as at
	why      string   // what the quiet one is
}

const (
	one     = `job="pay", instance="a"`
	another = `job="pay", instance="b"`
)

var (
	ofOne = map[string]string{"job": "pay", "instance": "a"}
	ofJob = map[string]string{"job": "pay"}
)

// with is labels and more of them.
func with(labels map[string]string, pairs ...string) map[string]string {
	all := map[string]string{}
	for name, value := range labels {
		all[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// critical is traffic of 1000 critical requests a minute, some of which are
// refused.
func critical(refused, because string) []string {
	return []string{
		`plimsoll_requests_total{class="critical", outcome="admitted", ` + one + `} 0+1000x5000`,
		`plimsoll_requests_total{class="low", outcome="rejected", ` + one + `} 0+5000x5000`,
		`plimsoll_released_total{class="critical", outcome="dropped", ` + one + `} 0x5000`,
		`plimsoll_refusals_total{class="low", mode="enforce", reason="worker-shed", ` + one + `} 0+5000x5000`,
		`plimsoll_refusals_total{class="critical", ` + because + `, ` + one + `} ` + refused,
	}
}

const noRoom = `mode="enforce", reason="worker-shed"`

var trials = map[string]trial{
	"PlimsollCriticalBurnHour": {
		fires: critical("0+20x5000", noRoom), at: "2h", labels: ofJob,
		says:  "2% of the critical requests of pay found no room or no answer in the last 1h: 2 % of a month's budget goes in an hour.",
		quiet: critical("0+500x5000", `mode="enforce", reason="rate-limited"`), why: "callers above their own limits",
	},
	"PlimsollCriticalBurnSixHours": {
		fires: critical("0+7x5000", `mode="enforce", reason="store-unavailable"`), at: "7h", labels: ofJob,
		says:  "0.7% of the critical requests of pay found no room or no answer in the last 6h: 5 % of a month's budget goes in six hours.",
		quiet: critical("0+20x300 6000x4700", noRoom), quietFor: "6h", why: "it ended an hour ago",
	},
	"PlimsollCriticalBurnDay": {
		fires: critical("0+4x5000", `mode="enforce", reason="fleet-shed"`), at: "25h", labels: ofJob,
		says:  "0.4% of the critical requests of pay found no room or no answer in the last 1d: 10 % of a month's budget goes in a day.",
		quiet: critical("0+500x5000", `mode="shadow", reason="fleet-shed"`), why: "a stage in shadow",
	},
	"PlimsollCriticalBurnThreeDays": {
		fires: []string{
			`plimsoll_requests_total{class="critical", outcome="admitted", ` + one + `} 0+1000x5000`,
			`plimsoll_released_total{class="critical", outcome="dropped", ` + one + `} 0+2x5000`,
		}, at: "73h", labels: ofJob,
		says:  "0.2% of the critical requests of pay found no room or no answer in the last 3d: 10 % of a month's budget goes in three days.",
		quiet: critical("0x500 0+1x4500", "mode=\"enforce\", reason=\"queue-timeout\""), quietFor: "24h", why: "as much as the objective allows",
	},

	"PlimsollUnreachable": {
		fires: []string{`up{` + one + `} 1x9 0x20`, `plimsoll_build_info{` + one + `, version="v1"} 1x9 _x20`}, at: "15m", labels: ofOne,
		says:  "a of pay did not answer its last scrapes: it ended, hangs, or cannot be reached.",
		quiet: []string{`up{job="node", instance="a"} 0x30`, `plimsoll_build_info{` + one + `, version="v1"} 1x30`, `up{` + one + `} 1x30`}, why: "somebody else's process",
	},
	"PlimsollNotServing": {
		fires: []string{`plimsoll_serving{` + one + `} 0x20`}, at: "6m", labels: ofOne,
		says:  "a starts or drains for more than five minutes.",
		quiet: []string{`plimsoll_serving{` + one + `} 0x3 1x20`}, why: "it started",
	},
	"PlimsollConfigRefused": {
		fires: []string{`plimsoll_config_ok{` + one + `} 1x4 0x20`}, at: "8m", labels: ofOne,
		says:  "a goes on with the last good configuration: the file that is there now is wrong.",
		quiet: []string{`plimsoll_config_ok{` + one + `} 1x30`}, why: "every file was good",
	},
	"PlimsollPanics": {
		fires: []string{`plimsoll_faults_total{entry="rates", kind="panic", ` + one + `} _x9 1x30`}, at: "12m", labels: with(ofOne, "entry", "rates", "kind", "panic"),
		says:  "rates of a panicked within the last 15 minutes; its fault policy answered in its place.",
		quiet: []string{`plimsoll_faults_total{entry="rates", kind="panic", ` + one + `} 7x60`, `plimsoll_faults_total{entry="rates", kind="store", ` + one + `} 0+9x60`}, quietFor: "20m", why: "old panics, and faults of the store",
	},
	"PlimsollEntrySwitchedOff": {
		fires: []string{`plimsoll_faults_total{entry="rates", kind="switched-off", ` + one + `} _x9 5+5x30`}, at: "12m", labels: with(ofOne, "entry", "rates", "kind", "switched-off"),
		says:  "rates of a protects nothing: it was switched off for its panics, and its fault policy decides.",
		quiet: []string{`plimsoll_faults_total{entry="", kind="switched-off", ` + one + `} 0x60`, `plimsoll_faults_total{entry="rates", kind="panic", ` + one + `} 0+1x60`}, quietFor: "20m", why: "panics alone",
	},
	"PlimsollUpstreamFailing": {
		fires: []string{`plimsoll_upstream_failures_total{failure="unreachable", ` + one + `} 0+10x30`, `plimsoll_requests_total{class="low", outcome="admitted", ` + one + `} 0+100x30`}, at: "15m", labels: ofOne,
		says:  "10% of what a forwards gets no whole answer.",
		quiet: []string{`plimsoll_upstream_failures_total{failure="client-gone", ` + one + `} 0+50x30`, `plimsoll_requests_total{class="low", outcome="admitted", ` + one + `} 0+100x30`}, why: "clients that left",
	},
	"PlimsollTelemetryDropped": {
		fires: []string{`plimsoll_otlp_dropped_total{signal="traces", ` + one + `} 0x10 10+10x30`}, at: "20m", labels: with(ofOne, "signal", "traces"),
		says:  "a gave up 100 traces records in 15 minutes: their receiver is slow, or not there.",
		quiet: []string{`plimsoll_otlp_dropped_total{signal="traces", ` + one + `} 500x60`}, why: "it is well again",
	},

	"PlimsollStoreDown": {
		fires: []string{`plimsoll_store_state{driver="redis", ` + one + `} 0x4 2x20`}, at: "8m", labels: with(ofOne, "driver", "redis"),
		says:  "a has not reached its store (redis) for two minutes; each stage decides by its on_fault.",
		quiet: []string{`plimsoll_store_state{driver="redis", ` + one + `} 0 2 0 2 0 2 0 2 0x20`}, why: "a store that comes back",
	},
	"PlimsollStoreDegraded": {
		fires: []string{`plimsoll_store_state{driver="redis", ` + one + `} 0x4 1x20`}, at: "12m", labels: with(ofOne, "driver", "redis"),
		says:  "a waits for its store (redis) longer than store.budget, again and again.",
		quiet: []string{`plimsoll_store_state{driver="redis", ` + one + `} 0x4 2x20`, `plimsoll_store_state{driver="memory", ` + another + `} 0x30`}, why: "down is another alert",
	},
	"PlimsollFallbacks": {
		fires: []string{`plimsoll_fallbacks_total{entry="rates", policy="local", ` + one + `} 0+10x30`, `plimsoll_requests_total{class="low", outcome="admitted", ` + one + `} 0+200x30`}, at: "15m", labels: ofOne,
		says:  "a makes 0.05 decisions a request by fault policies.",
		quiet: []string{`plimsoll_fallbacks_total{entry="rates", policy="local", ` + one + `} 0+1x30`, `plimsoll_requests_total{class="low", outcome="admitted", ` + one + `} 0+200x30`}, why: "a call now and then",
	},
	"PlimsollReturnsDropped": {
		fires: []string{`plimsoll_store_returns_unusual_total{kind="dropped", ` + one + `} 0x5 14+14x30`}, at: "20m", labels: with(ofOne, "kind", "dropped"),
		says:  "a dropped 210 returns in 15 minutes, because its queue was full; their slots end with their leases.",
		quiet: []string{`plimsoll_store_returns_unusual_total{kind="reclaimed", ` + one + `} 0+9x30`, `plimsoll_store_returns_unusual_total{kind="dropped", ` + one + `} 3x30`}, why: "reclaimed ones cost nothing",
	},
	"PlimsollTableSpilled": {
		fires: []string{`plimsoll_store_spilled_total{` + one + `} 0x5 2+2x30`}, at: "25m", labels: ofOne,
		says:  "a decided 30 claims in 15 minutes by a state that keys without room share.",
		quiet: []string{`plimsoll_store_spilled_total{` + one + `} 0x30`}, why: "there is room",
	},

	"PlimsollLevelHigh": {
		fires: []string{`plimsoll_workershed_level{entry="workershed", ` + one + `} 2.5x40`, `plimsoll_workershed_pinned{entry="workershed", ` + one + `} 0x40`}, at: "16m", labels: with(ofOne, "entry", "workershed"),
		says:  "workershed of a is at level 2.5: this is no burst, there is too little capacity.",
		quiet: []string{`plimsoll_workershed_level{entry="workershed", ` + one + `} 3x40`, `plimsoll_workershed_pinned{entry="workershed", ` + one + `} 1x40`}, quietFor: "30m", why: "an operator holds it",
	},
	"PlimsollQueueInVain": {
		fires: []string{`plimsoll_queue_duration_seconds_count{class="low", outcome="rejected", ` + one + `} 0+300x30`, `plimsoll_queue_duration_seconds_count{class="low", outcome="admitted", ` + one + `} 0+100x30`}, at: "15m", labels: ofOne,
		says:  "75% of the requests that wait in the queue of a are refused or given up in the end.",
		quiet: []string{`plimsoll_queue_duration_seconds_count{class="low", outcome="rejected", ` + one + `} 0+3x30`, `plimsoll_queue_duration_seconds_count{class="low", outcome="admitted", ` + one + `} 0+1x30`}, why: "too few to say",
	},
	"PlimsollHungRequests": {
		fires: []string{`plimsoll_workershed_hung{entry="workershed", ` + one + `} 3x20`}, at: "6m", labels: with(ofOne, "entry", "workershed"),
		says:  "3 requests in flight on a are far older than others get. They hold room that nobody else gets.",
		quiet: []string{`plimsoll_workershed_hung{entry="workershed", ` + one + `} 3x3 0x20`}, why: "they ended",
	},
	"PlimsollWorkersLost": {
		fires: []string{`plimsoll_fleet_workers{state="stale", ` + one + `} 0x4 2x20`, `plimsoll_fleet_workers{state="stale", ` + another + `} 0x4 1x20`}, at: "8m", labels: ofJob,
		says:  "2 workers of pay sent no heartbeat, and had not drained.",
		quiet: []string{`plimsoll_fleet_workers{state="drained", ` + one + `} 0x4 2x20`, `plimsoll_fleet_workers{state="stale", ` + one + `} 0x30`}, why: "they said goodbye",
	},
	"PlimsollFleetLowTrust": {
		fires: []string{`plimsoll_fleet_low_trust{` + one + `} 0x4 1x20`}, at: "8m", labels: ofJob,
		says:  "pay holds its capacity at half of its recent high or more, because so many workers at once are sooner a fault of the network than a loss.",
		quiet: []string{`plimsoll_fleet_low_trust{` + one + `} 0x30`}, why: "all are heard",
	},
	"PlimsollLeaseEnded": {
		fires: []string{`plimsoll_fleet_lease_remaining_seconds{` + one + `} 1x4 -90x20`}, at: "8m", labels: ofOne,
		says:  "a has -1m 30s left of its lease, and no heartbeat was answered since.",
		quiet: []string{`plimsoll_fleet_lease_remaining_seconds{` + one + `} 1 -1 1 -1 1x20`}, why: "a heartbeat that was lost",
	},

	"PlimsollBypassActive": {
		fires: []string{`plimsoll_overrides{kind="bypass", state="in-force", ` + one + `} 0x4 1x20`}, at: "5m", labels: ofJob,
		says:  "Somebody set a bypass for pay: every request is admitted.",
		quiet: []string{`plimsoll_overrides{kind="bypass", state="pending", ` + one + `} 1x20`, `plimsoll_overrides{kind="shed", state="in-force", ` + one + `} 2x20`}, why: "it waits for a second person",
	},
	"PlimsollOverrideExpiring": {
		fires: []string{`plimsoll_overrides_remaining_seconds{kind="shed", ` + one + `} 900-60x15`}, at: "10m", labels: with(ofJob, "kind", "shed"),
		says:  "An override of kind shed of pay ends by itself in 5m 0s; what it held back comes then.",
		quiet: []string{`plimsoll_overrides_remaining_seconds{kind="shed", ` + one + `} 900-60x4 3600-60x20`}, why: "it was extended",
	},
	"PlimsollOverrideUnmet": {
		fires: []string{`plimsoll_overrides_unmet{` + one + `} 0x4 1x20`}, at: "8m", labels: ofOne,
		says:  "1 overrides in force do nothing on a: its configuration has nothing that they could change.",
		quiet: []string{`plimsoll_overrides_unmet{` + one + `} 0x30`}, why: "all have an effect",
	},
	"PlimsollControlLost": {
		fires: []string{`plimsoll_control_ok{` + one + `} 1x4 0x20`}, at: "8m", labels: ofOne,
		says:  "a goes on with the overrides that it knew, and hears of no change.",
		quiet: []string{`plimsoll_control_ok{` + one + `} 1 0 1 0 1x20`}, why: "it was lost for a moment",
	},
	"PlimsollControlBehind": {
		fires: []string{`plimsoll_fleet_control_generation{` + one + `} 5x4 8x20`, `plimsoll_fleet_control_generation{` + another + `} 5x30`}, at: "8m", labels: ofJob,
		says:  "A worker of pay is 3 changes behind the others.",
		quiet: []string{`plimsoll_fleet_control_generation{` + one + `} 5x4 8x20`, `plimsoll_fleet_control_generation{` + another + `} 5x5 8x20`, `plimsoll_fleet_control_generation{job="pay", instance="c"} 0x30`}, why: "one hears a minute later, and one has heard nothing yet",
	},
}
