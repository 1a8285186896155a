package admin

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestAScrapeTellsWhatTheStatusTells(t *testing.T) {
	scrape := ask(handler(t, true, false), "GET", "localhost", "/metrics").Body.String()
	for _, line := range []string{
		`plimsoll_admitted_total{class="critical"} 5`,
		`plimsoll_abandoned_total{class="critical"} 2`,
		`plimsoll_rejected_total{class="critical",entry="ratelimit",reason="rate-limited"} 4`,
		`plimsoll_shadowed_total{class="low",entry="ratelimit",reason="rate-limited"} 9`,
		`plimsoll_faults_total{entry="ratelimit",kind="panic"} 1`,
		`plimsoll_faults_total{entry="",kind="store"} 8`,
		`plimsoll_in_flight 7`,
		`plimsoll_serving 1`,
		`plimsoll_store_state{driver="memory"} 1`,
		`plimsoll_config_generation 3`,
		`plimsoll_config_ok 0`,
		`plimsoll_entry_mode{entry="ratelimit",mode="shadow"} 1`,
		`plimsoll_build_info{version="v1.2.3"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(scrape, "\n"+line) {
			t.Errorf("a scrape lacks %s", line)
		}
	}
}

func TestMetricsAreNamedAsTheyShould(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector{sample})
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
