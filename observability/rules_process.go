package observability

import "time"

var processAlerts = []Alert{
	{
		Name: "PlimsollUnreachable", Severity: Critical, For: time.Minute, Dashboard: FleetUID,
		Expr:        "up == 0\nand on (job, instance) count_over_time(plimsoll_build_info[1h]) > 0",
		Summary:     "A worker cannot be scraped.",
		Description: "{{ $labels.instance }} of {{ $labels.job }} did not answer its last scrapes: it ended, hangs, or cannot be reached.",
		Means:       "A process that told its figures within the last hour does not any more. A worker that was taken away on purpose is forgotten after an hour, or when it is no target any more.",
		Look:        "Fleet: workers by state. If the fleet still hears it, the network to Prometheus is at fault; if not, the process.",
		Do:          "Ask its /healthz, its log and its supervisor. Its slots come free when their leases end; the others' share of the fleet grows by themselves.",
	},
	{
		Name: "PlimsollNotServing", Severity: Warning, For: 5 * time.Minute, Dashboard: FleetUID,
		Expr:        "plimsoll_serving == 0",
		Summary:     "A worker runs and takes no traffic.",
		Description: "{{ $labels.instance }} starts or drains for more than five minutes.",
		Means:       "The process says to probes that it is not ready. Draining ends after server.grace; more than that is a hang.",
		Look:        "Worker: in flight. plimsoll status says in which state it is.",
		Do:          "If requests in flight keep it from ending, shorten server.grace or end them. If it starts, its log says what it waits for.",
	},
	{
		Name: "PlimsollConfigRefused", Severity: Warning, For: time.Minute, Dashboard: IncidentUID,
		Expr:        "plimsoll_config_ok == 0",
		Summary:     "A change of the configuration was refused.",
		Description: "{{ $labels.instance }} goes on with the last good configuration: the file that is there now is wrong.",
		Means:       "The file has faults. Nothing is broken yet; but a restart would fail, and workers that restart differ from those that do not.",
		Look:        "plimsoll status, and the log: every fault is named, with its line.",
		Do:          "plimsoll check FILE; mend it, or put the last one back. It is read again by itself.",
	},
	{
		Name: "PlimsollPanics", Severity: Critical, Dashboard: IncidentUID,
		Expr:        grew(`plimsoll_faults_total{kind="panic"}`),
		Summary:     "A stage panicked.",
		Description: "{{ $labels.entry }} of {{ $labels.instance }} panicked within the last 15 minutes; its fault policy answered in its place.",
		Means:       "A fault in the code of a stage, or outside of all where entry is empty. The request got the answer of the fault policy. After sixteen the entry is switched off.",
		Look:        "The log: the panic and its stack, once for each place.",
		Do:          "Report it with the stack. If it goes on, set the stage to off by an override, or roll back the last version.",
	},
	{
		Name: "PlimsollEntrySwitchedOff", Severity: Critical, Dashboard: IncidentUID,
		Expr:        grew(`plimsoll_faults_total{kind="switched-off"}`),
		Summary:     "An entry of the plan is switched off, because it panicked too often.",
		Description: "{{ $labels.entry }} of {{ $labels.instance }} protects nothing: it was switched off for its panics, and its fault policy decides.",
		Means:       "A part of the protection is not there, on this worker alone. Open lets everything through, closed refuses it.",
		Look:        "Incident: faults by entry. The log has the panics that came before.",
		Do:          "As for panics. A change of the configuration or a restart tries the entry again.",
	},
	{
		Name: "PlimsollUpstreamFailing", Severity: Warning, For: 5 * time.Minute, Dashboard: IncidentUID,
		Expr: `sum by (job, instance) (rate(plimsoll_upstream_failures_total{failure=~"unreachable|untrusted|timed-out|past-deadline|broken|truncated"}[5m]))
/ sum by (job, instance) (rate(plimsoll_requests_total{outcome="admitted"}[5m])) > 0.05`,
		Summary:     "The upstream fails more than one request in twenty.",
		Description: "{{ $value | humanizePercentage }} of what {{ $labels.instance }} forwards gets no whole answer.",
		Means:       "The service behind cannot be reached, is too slow for proxy.timeouts, or breaks off. Requests that a client gave up are not counted.",
		Look:        "Incident: upstream failures by kind, and request time.",
		Do:          "It is the upstream's trouble: see its own alerts. If it is overloaded, lower max_in_flight, or shed less critical classes meanwhile.",
	},
	{
		Name: "PlimsollTelemetryDropped", Severity: Warning, Dashboard: WorkerUID,
		Expr:        "increase(plimsoll_otlp_dropped_total[15m]) > 0",
		Summary:     "Spans or log records were given up.",
		Description: "{{ $labels.instance }} gave up {{ $value | humanize }} {{ $labels.signal }} records in 15 minutes: their receiver is slow, or not there.",
		Means:       "The receiver of OTLP does not keep up. Requests do not notice, and metrics lose nothing.",
		Look:        "Worker: pushed by OTLP, sent and failed.",
		Do:          "See to the collector, or sample fewer traces (OTEL_TRACES_SAMPLER).",
	},
}

// grew is whether a counter counted something in 15 minutes. Many begin to
// exist with the first thing that they count, which increase does not see.
func grew(series string) string {
	return "increase(" + series + "[15m]) > 0\nor\n(" + series + " > 0 unless " + series + " offset 15m)"
}
