package process

import (
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
		seldom := d.Name == telemetry.Refusals // none happened
		if !seldom && !strings.Contains(scrape, "\n"+d.Prometheus()) {
			t.Errorf("a scrape lacks %s", d.Prometheus())
		}
	}
	for _, line := range []string{
		`plimsoll_serving 1`,
		`plimsoll_config_ok 1`,
		`plimsoll_config_generation 1`,
		`plimsoll_build_info{version="v0"} 1`,
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
