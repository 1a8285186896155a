package observability

import (
	"fmt"
	"strings"
	"time"
)

// Objective is the share of critical requests that must find room and get an
// answer: what the burn rates are counted from.
const Objective = 0.999

// failures is the critical requests that failed for want of room, here or
// further on. What a caller's own limits refuse is no failure of the service.
// The zero is for who never had a refusal.
const failures = `(
  (
    sum by (job) (rate(plimsoll_refusals_total{class="critical", mode="enforce", reason=~"fleet-shed|worker-shed|queue-timeout|store-unavailable"}[WINDOW]))
    or 0 * sum by (job) (rate(plimsoll_requests_total{class="critical"}[WINDOW]))
  )
  + sum by (job) (rate(plimsoll_released_total{class="critical", outcome="dropped"}[WINDOW]))
)`

const decided = `sum by (job) (rate(plimsoll_requests_total{class="critical"}[WINDOW]))`

// burn is a pair of windows: an alert fires while both burn the budget of 30
// days faster than the factor, the long one to be sure and the short one so
// that it ends soon after the trouble does.
type burn struct {
	name        string
	long, short time.Duration
	factor      float64
	severity    Severity
	spends      string // what is gone by the time that it fires
}

const day = 24 * time.Hour

var burns = []burn{
	{"PlimsollCriticalBurnHour", time.Hour, 5 * time.Minute, 14.4, Critical, "2 % of a month's budget goes in an hour"},
	{"PlimsollCriticalBurnSixHours", 6 * time.Hour, 30 * time.Minute, 6, Critical, "5 % of a month's budget goes in six hours"},
	{"PlimsollCriticalBurnDay", day, 2 * time.Hour, 3, Warning, "10 % of a month's budget goes in a day"},
	{"PlimsollCriticalBurnThreeDays", 3 * day, 6 * time.Hour, 1, Warning, "10 % of a month's budget goes in three days"},
}

func failureRatio(window time.Duration) string {
	return "plimsoll:critical_failures:ratio_rate" + short(window)
}

// burnRecords is the share of failures in each window.
func burnRecords() (list []Record) {
	for _, w := range []time.Duration{5 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, day, 3 * day} {
		expr := failures + "\n/ " + decided
		list = append(list, Record{failureRatio(w), strings.ReplaceAll(expr, "WINDOW", short(w))})
	}
	return list
}

func burnAlerts() (list []Alert) {
	for _, b := range burns {
		bound := fmt.Sprintf("%.4g", b.factor*(1-Objective))
		list = append(list, Alert{
			Name: b.name, Severity: b.severity, Dashboard: FleetUID,
			Expr:        fmt.Sprintf("%s > %s\nand\n%s > %s", failureRatio(b.long), bound, failureRatio(b.short), bound),
			Summary:     "Critical requests fail faster than their objective of 99.9 % allows.",
			Description: fmt.Sprintf("{{ $value | humanizePercentage }} of the critical requests of {{ $labels.job }} found no room or no answer in the last %s: %s.", short(b.long), b.spends),
			Means:       fmt.Sprintf("Critical requests find no room, or are dropped further on, %v times as fast as is allowed, over %s and %s: %s.", b.factor, short(b.long), short(b.short), b.spends),
			Look:        "Fleet: failures of critical requests, demand by class against capacity. Incident: refusals by reason, and what came before.",
			Do: "If demand is above capacity, add workers, and shed less critical classes by hand if the shedders do not already. " +
				"If a caller was let in as critical that is not, change the rules. If the upstream drops requests, lower the workers' limits.",
		})
	}
	return list
}
