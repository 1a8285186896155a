package process

import (
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/control"
)

// What people changed is in a scrape: what holds, what is only tried, what has
// no effect, and when the first of it ends.
func TestAScrapeTellsOverrides(t *testing.T) {
	r := start(t, "", hello)
	if _, scrape := get(t, r.side+"/metrics"); strings.Contains(scrape, "plimsoll_overrides_remaining_seconds{") {
		t.Error("something ends that was never made")
	}
	r.override(t, control.Override{What: control.Shed, Scope: control.Scope{Below: "normal"}, DryRun: true})
	r.override(t, control.Override{What: control.Pin, Scope: control.Scope{Stage: "nowhere"}, Set: control.Level, Value: 1})
	bypass := r.override(t, control.Override{What: control.Bypass})
	_, scrape := get(t, r.side+"/metrics")
	for _, line := range []string{
		`plimsoll_overrides{kind="shed",state="dry-run"} 1`, `plimsoll_overrides{kind="shed",state="in-force"} 0`,
		`plimsoll_overrides{kind="bypass",state="in-force"} 1`, `plimsoll_overrides{kind="pin",state="in-force"} 1`,
		`plimsoll_overrides{kind="bypass",state="pending"} 0`, `plimsoll_overrides_unmet 1`, `plimsoll_control_ok 1`,
	} {
		if !strings.Contains(scrape, "\n"+line+"\n") {
			t.Errorf("a scrape lacks %s", line)
		}
	}
	ends := regexp.MustCompile(`(?m)^plimsoll_overrides_remaining_seconds\{kind="(\w+)"\} [1-9]`)
	if n := len(ends.FindAllString(scrape, -1)); n != 2 {
		t.Errorf("%d kinds end, want 2: a dry run is nothing that ends", n)
	}
	r.revoke(t, bypass.Override.ID)
	if _, scrape = get(t, r.side+"/metrics"); !strings.Contains(scrape, "\n"+`plimsoll_overrides{kind="bypass",state="in-force"} 0`+"\n") {
		t.Error("a bypass goes on after it was revoked")
	}
}
