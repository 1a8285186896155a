package observability

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of trials: days of minutes take a minute, so that those of the
// objective are evaluated at longer intervals.
const (
	rulesTest = "rules_test.yml"
	sloTest   = "rules_slo_test.yml"
)

// ruleTests is the trials of some alerts as promtool reads them.
func ruleTests(alerts []Alert, interval string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Generated from package observability by go generate. Change that.\nrule_files: [rules.yml]\nevaluation_interval: %s\ntests:\n", interval)
	for _, a := range alerts {
		t := trials[a.Name]
		until := t.quietFor
		if until == "" {
			until = t.at
		}
		writeTest(&b, a.Name+" fires", t.fires)
		fmt.Fprintf(&b, "    alert_rule_test:\n      - eval_time: %s\n        alertname: %s\n        exp_alerts:\n          - exp_labels:\n", t.at, a.Name)
		fmt.Fprintf(&b, "              severity: %s\n", a.Severity)
		for _, name := range slices.Sorted(maps.Keys(t.labels)) {
			fmt.Fprintf(&b, "              %s: %q\n", name, t.labels[name])
		}
		b.WriteString("            exp_annotations:\n")
		for _, pair := range a.Annotations() {
			if pair[0] == "description" {
				pair[1] = t.says
			}
			fmt.Fprintf(&b, "              %s: %q\n", pair[0], pair[1])
		}
		writeTest(&b, a.Name+" does not: "+t.why, t.quiet)
		fmt.Fprintf(&b, "    alert_rule_test:\n      - eval_time: %s\n        alertname: %s\n        exp_alerts: []\n", until, a.Name)
	}
	return []byte(b.String())
}

func writeTest(b *strings.Builder, name string, series []string) {
	fmt.Fprintf(b, "  - name: %q\n    interval: 1m\n    input_series:\n", name)
	for _, s := range series {
		at := strings.LastIndexByte(s, '}') + 1
		fmt.Fprintf(b, "      - {series: %q, values: %q}\n", s[:at], s[at+1:])
	}
}

// Every alert has a trial, each fires when it must and is quiet when it must
// be, and the rules are what Prometheus takes.
func TestRules(t *testing.T) {
	for _, a := range Alerts() {
		if trial := trials[a.Name]; len(trial.fires) == 0 || len(trial.quiet) == 0 || trial.why == "" {
			t.Errorf("%s has no trial that fires and one that does not", a.Name)
		}
	}
	if len(trials) != len(Alerts()) {
		t.Errorf("%d trials of %d alerts", len(trials), len(Alerts()))
	}
	folder := t.TempDir()
	for name, text := range map[string][]byte{"rules.yml": RuleFile(), rulesTest: ruleTests(Alerts()[len(burns):], "1m"), sloTest: ruleTests(burnAlerts(), "15m")} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", "rules.yml"}, {"test", "rules", rulesTest, sloTest}} {
		tool := exec.CommandContext(t.Context(), "promtool", args...)
		tool.Dir = folder
		if said, err := tool.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
}

// An alert says what somebody needs who was woken by it, and uses names that
// there are.
func TestAlertsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Alerts() {
		for what, text := range map[string]string{
			"summary": a.Summary, "description": a.Description, "meaning": a.Means, "thing to look at": a.Look, "thing to do": a.Do, "dashboard": a.Dashboard,
		} {
			if text == "" {
				t.Errorf("%s has no %s", a.Name, what)
			}
		}
		metrics, unknown := metricsIn(expanded(a.Expr))
		if len(unknown) > 0 || len(metrics) == 0 {
			t.Errorf("%s uses %q, which are no metrics, of %d", a.Name, unknown, len(metrics))
		}
		if seen[a.Name] || !strings.HasPrefix(a.Name, "Plimsoll") {
			t.Errorf("%s is a name that is taken, or not ours", a.Name)
		}
		seen[a.Name] = true
		if !slices.ContainsFunc(Dashboards(), func(d Dashboard) bool { return d.UID == a.Dashboard }) {
			t.Errorf("%s leads to %s, which is no dashboard", a.Name, a.Dashboard)
		}
	}
}

// read is a file of the tree.
func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
