package observability

import "time"

var controlAlerts = []Alert{
	{
		Name: "PlimsollBypassActive", Severity: Warning, Dashboard: IncidentUID,
		Expr:        `max by (job) (plimsoll_overrides{kind="bypass", state="in-force"}) > 0`,
		Summary:     "Nothing is protected: a bypass is in force.",
		Description: "Somebody set a bypass for {{ $labels.job }}: every request is admitted.",
		Means:       "No limit and no shedder refuses anything. It ends by itself, see the time that is left.",
		Look:        "Incident: overrides, and in how long they end. The audit trail says who and why.",
		Do:          "If what it was for is over, revoke it. If it was set by mistake, revoke it now.",
	},
	{
		Name: "PlimsollOverrideExpiring", Severity: Info, Dashboard: IncidentUID,
		Expr:        "min by (job, kind) (plimsoll_overrides_remaining_seconds) < 600",
		Summary:     "An override ends within ten minutes.",
		Description: "An override of kind {{ $labels.kind }} of {{ $labels.job }} ends by itself in {{ $value | humanizeDuration }}; what it held back comes then.",
		Means:       "After it the configuration holds again. If the trouble is not over, it comes back at that moment.",
		Look:        "Incident: demand, and refusals by reason: would the configuration alone hold now?",
		Do:          "Extend it, or let it end. If it must stay, put it into the configuration file.",
	},
	{
		Name: "PlimsollOverrideUnmet", Severity: Warning, For: time.Minute, Dashboard: IncidentUID,
		Expr:        "plimsoll_overrides_unmet > 0",
		Summary:     "An override has no effect on a worker.",
		Description: "{{ $value | humanize }} overrides in force do nothing on {{ $labels.instance }}: its configuration has nothing that they could change.",
		Means:       "Somebody believes that something is switched on or off that is not: a stage or a limit of that name is not there, or the plan could not be made with it.",
		Look:        "plimsoll status, or the list of overrides: each says why.",
		Do:          "Revoke it and make it with the right name; or bring the worker's configuration up to the others'.",
	},
	{
		Name: "PlimsollControlLost", Severity: Warning, For: 2 * time.Minute, Dashboard: IncidentUID,
		Expr:        "plimsoll_control_ok == 0",
		Summary:     "Overrides cannot be read, or cannot be made to hold.",
		Description: "{{ $labels.instance }} goes on with the overrides that it knew, and hears of no change.",
		Means:       "What people change now may not reach this worker. Overrides end in time all the same.",
		Look:        "Store: state. plimsoll status says the error.",
		Do:          "Bring the storage back. Meanwhile change this worker by its socket, with an override of its own.",
	},
	{
		Name: "PlimsollControlBehind", Severity: Warning, For: 2 * time.Minute, Dashboard: FleetUID,
		Expr:        "max by (job) (plimsoll_fleet_control_generation) - min by (job) (plimsoll_fleet_control_generation > 0) > 0",
		Summary:     "Workers do not agree on the control state.",
		Description: "A worker of {{ $labels.job }} is {{ $value | humanize }} changes behind the others.",
		Means:       "A change that people made holds on some workers, and not on others.",
		Look:        "Fleet: generation of the control state by worker, heartbeats missed.",
		Do:          "The one that is behind does not hear the fleet: see to its way to the store, or end it.",
	},
}
