package process

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/telemetry"
)

// Every metric that is given is given by the process, and a scrape shows it.
func TestAScrapeTellsEveryGauge(t *testing.T) {
	r := start(t, "", hello)
	get(t, r.url)
	_, scrape := get(t, r.side+"/metrics")
	for _, d := range telemetry.Definitions() {
		seldom := slices.Contains([]telemetry.Metric{ // none happened
			telemetry.Refusals, telemetry.Fallbacks, telemetry.StoreDuration, telemetry.DelayDuration, telemetry.QueueDuration,
			telemetry.LogSuppressed, telemetry.OTLPExports, telemetry.OTLPDropped, telemetry.OverridesRemaining,
		}, d.Name)
		if !seldom && !strings.Contains(scrape, "\n"+d.Prometheus()) {
			t.Errorf("a scrape lacks %s", d.Prometheus())
		}
	}
	for _, line := range []string{
		`plimsoll_serving 1`,
		`plimsoll_config_ok 1`,
		`plimsoll_config_generation 1`,
		`plimsoll_config_reloads_total{outcome="applied"} 1`,
		`plimsoll_config_reloads_total{outcome="refused"} 0`,
		`plimsoll_upstream_failures_total{failure="unreachable"} 0`,
		`plimsoll_store_failures_total{kind="late"} 0`,
		`plimsoll_fleet_workers{state="stale"} 0`,
		`plimsoll_workershed_refused_total{cause="room",class="low",entry="workershed"} 0`,
		`plimsoll_overrides{kind="bypass",state="in-force"} 0`,
		`plimsoll_control_ok 1`,
		`plimsoll_build_info{go="` + runtime.Version() + `",version="v0"} 1`,
		`plimsoll_store_state{driver="memory"} 0`,
		`plimsoll_workershed_in_flight{class="low",entry="workershed"} 0`,
		`plimsoll_workershed_shed_ratio{class="critical",entry="workershed"} 0`,
		`plimsoll_fleetshed_in_flight{class="low",entry="fleetshed"} 0`,
		`plimsoll_decision_duration_seconds_count{class="normal",outcome="admitted"} 1`,
	} {
		if !strings.Contains(scrape, "\n"+line+"\n") {
			t.Errorf("a scrape lacks %s", line)
		}
	}
}
