package observability

import (
	"encoding/json"
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"testing"
)

//go:generate go test -run ^TestGenerated -update .

var update = flag.Bool("update", false, "write generated files")

func generated(t *testing.T) map[string][]byte {
	t.Helper()
	table, err := format.Source(UseTable())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"../deploy/prometheus/rules.yml":    RuleFile(),
		"../deploy/prometheus/" + rulesTest: ruleTests(Alerts()[len(burns):], "1m"),
		"../deploy/prometheus/" + sloTest:   ruleTests(burnAlerts(), "15m"),
		"../docs/alerts.md":                 Document(),
		"../telemetry/usetable.go":          table,
	}
	for _, d := range Dashboards() {
		files["../deploy/grafana/"+d.File()] = d.Grafana()
	}
	return files
}

func TestGenerated(t *testing.T) {
	for path, want := range generated(t) {
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if read(t, path) != string(want) {
			t.Errorf("%s is not what the definitions say: run go generate ./observability ./telemetry", path)
		}
	}
}

// What Grafana imports has an identity, variables, and panels with places that
// do not overlap.
func TestDashboardsAreWhatGrafanaImports(t *testing.T) {
	for _, d := range Dashboards() {
		var got struct {
			UID, Title string
			Templating struct {
				List []struct{ Name, Type string }
			}
			Links  []struct{ Type string }
			Panels []struct {
				ID                int
				Type, Title       string
				Description, Unit string
				GridPos           struct{ W, H, X, Y int }
				Targets           []struct{ Expr, RefID string }
			}
		}
		if err := json.Unmarshal(d.Grafana(), &got); err != nil {
			t.Fatal(err)
		}
		if got.UID != d.UID || len(got.Templating.List) != 3 || len(got.Links) != 2 {
			t.Errorf("%s: uid %s, %d variables, %d links", d.Name, got.UID, len(got.Templating.List), len(got.Links))
		}
		cells, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range got.Panels {
			if ids[p.ID] {
				t.Errorf("%s: two panels %d", d.Name, p.ID)
			}
			ids[p.ID] = true
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					if cells[cell] != "" || cell[0] > 23 {
						t.Fatalf("%s: %s lies on %s, or beyond the edge", d.Name, p.Title, cells[cell])
					}
					cells[cell] = p.Title
				}
			}
			if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
				t.Errorf("%s: %s has no description or no query", d.Name, p.Title)
			}
		}
	}
}

// Titles are unique in a dashboard, queries use metrics that there are, and
// every metric is on some panel.
func TestPanels(t *testing.T) {
	if _, unknown := metricsIn("plimsoll_serving + plimsoll_nonsense_total"); len(unknown) != 1 {
		t.Errorf("of a metric and a name that is none, %q are none", unknown)
	}
	for _, d := range Dashboards() {
		seen := map[string]bool{}
		for p := range d.Panels() {
			if seen[p.Title] {
				t.Errorf("%s has two panels %s", d.Name, p.Title)
			}
			seen[p.Title] = true
			for _, query := range p.Queries {
				if _, unknown := metricsIn(query.Expr); len(unknown) > 0 {
					t.Errorf("%s/%s uses %q, which are no metrics", d.Name, p.Title, unknown)
				}
			}
		}
	}
	uses := Uses()
	for _, m := range definitions() {
		if len(uses[m].Panels) == 0 {
			t.Errorf("%s is on no panel", m)
		}
	}
}
