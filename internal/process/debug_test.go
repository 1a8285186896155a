package process

import (
	"strings"
	"testing"
)

// The dumps of a process that serves, each with something of this process.
func TestDumps(t *testing.T) {
	r := start(t, file(t, `version: 1
stages:
  - stage: ratelimit
    limits: [{name: per-caller, key: [caller, route], rate: 100/second}]
  - stage: concurrency
    limits: [{name: slots, key: [], max: 8}]
  - {stage: fleetshed}
  - {stage: workershed}
`), hello)
	get(t, r.url)
	for name, want := range map[string][]string{
		"": {"/debug/plimsoll/holders"}, "entries": {"ratelimit enforce local 0 0 0"}, "classes": {"normal 0 1 0 0"},
		"queues": {"workershed critical"}, "holders": {"AGE CLASS CALLER"}, "store": {"store.keys - "}, "fleet": {"fleet.workers live"},
		"limits": {"ratelimit per-caller caller,route 100/s", "concurrency slots everybody 8 in flight"},
	} {
		status, body := get(t, r.side+"/debug/plimsoll/"+name)
		text := ""
		for line := range strings.Lines(body) {
			text += strings.Join(strings.Fields(line), " ") + "\n"
		}
		for _, w := range want {
			if status != 200 || !strings.Contains(text, w) {
				t.Errorf("%s: %d, no %q in\n%s", name, status, w, text)
			}
		}
	}
}
