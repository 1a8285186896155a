package observe

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/otlptest"
	"github.com/plimsoll-go/plimsoll/observability"
)

// length of the story: as short as it can be, some seconds an act. Pictures
// read better of a longer one.
var length = flag.Duration("length", 24*time.Second, "how long the story takes")

// still are the queries that have data which does not move in the story, and
// why.
var still = map[string]string{
	"fleet/Critical requests that failed": "no critical request fails, which is what all this is for",
	"fleet/Burn rate":                     "likewise",
	"fleet/Streams":                       "nobody opens one",
	"fleet/Low trust, learning":           "one silent worker of three is no reason for doubt",
	"worker/Hung requests and streams":    "nothing hangs",
	"worker/Level and strain":             "strain is for processors that are late",
	"worker/Pushed by OTLP":               "the receiver is there: nothing is given up",
	"worker/Asking the store":             "a request asks for a millisecond, and a scrape seldom sees it",
	"store/Calls under way":               "likewise",
	"store/Returns that wait":             "likewise",
	"store/Returns out of the usual":      "the queue has room",
	"store/Forgotten and spilled":         "so has the table",
}

// environment switches pushing on, to a receiver of the test's own.
func environment(t *testing.T) {
	t.Helper()
	receiver := httptest.NewServer(new(otlptest.Receiver))
	t.Cleanup(receiver.Close)
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL, "OTEL_METRIC_EXPORT_INTERVAL": "1000", "OTEL_BSP_SCHEDULE_DELAY": "500",
		"OTEL_BLRP_SCHEDULE_DELAY": "500", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.05",
	} {
		t.Setenv(name, value)
	}
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Three real workers, a real Redis that fails, a real Prometheus: every query
// of every panel finds something, and nearly all of it moves.
func TestEveryPanelHasData(t *testing.T) {
	environment(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	stand, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stand.Close()
	servers := map[string]*Prometheus{}
	for kind, args := range map[string][]string{"classic": nil, "native": {Native}} {
		if servers[kind], err = stand.Scrape(ctx, free(t), args...); err != nil {
			t.Fatal(err)
		}
	}
	var story *Story
	var missing []string
	for range 3 { // again where the machine stood still at the wrong moment
		next, err := stand.Tell(ctx, *length, func(a Act) { t.Log(time.Now().Format(time.TimeOnly), a.Name) })
		if err != nil {
			t.Log(err)
			missing = []string{err.Error()}
			continue
		}
		if story == nil {
			story = next
		}
		missing = nil
		for kind, server := range servers {
			missing = append(missing, judge(ctx, t, kind, server, &Story{From: story.From, To: next.To})...)
		}
		if len(missing) == 0 {
			break
		}
	}
	for _, what := range missing {
		t.Error(what)
	}
	if story == nil {
		t.Fatal("no story came to its end")
	}
	draw(ctx, t, servers["classic"], story)
	counts(ctx, t, servers["classic"])
}

// judge asks a server for every panel, and says what is missing.
func judge(ctx context.Context, t *testing.T, kind string, server *Prometheus, story *Story) (missing []string) {
	t.Helper()
	queries, moving := 0, 0
	for _, d := range observability.Dashboards() {
		for panel := range d.Panels() {
			readings, err := server.Read(ctx, panel, story.From, story.To)
			if err != nil {
				t.Fatal(err)
			}
			_, excused := still[d.Name+"/"+panel.Title]
			for i := range readings {
				r := &readings[i]
				queries++
				switch where := fmt.Sprintf("%s: %s/%s: %s", kind, d.Name, panel.Title, r.Query.Expr); {
				case len(r.Series) == 0:
					missing = append(missing, where+" finds nothing")
				case r.Moves():
					moving++
				case !excused:
					missing = append(missing, where+" finds nothing but 0")
				default:
					t.Logf("%s stays at 0", where)
				}
			}
		}
	}
	t.Logf("%s: %d queries, %d of them move", kind, queries, moving)
	return missing
}

// counts says how many series a worker makes, and how long a scrape takes.
func counts(ctx context.Context, t *testing.T, p *Prometheus) {
	t.Helper()
	for what, expr := range map[string]string{
		"series of Plimsoll's in a worker": `max(count by (instance) ({__name__=~"plimsoll_.+", __name__!~".+:.+"}))`,
		"samples in a scrape":              "max(max_over_time(scrape_samples_scraped[5m]))",
		"seconds of a scrape, the median":  "quantile_over_time(0.5, scrape_duration_seconds{instance=\"worker-1\"}[5m])",
	} {
		list, err := p.Instant(ctx, expr)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %d series", expr, err, len(list))
		}
		value := list[0].Points[0].Value
		t.Logf("%v %s", value, what)
		if strings.HasPrefix(what, "series") && value > 2000 {
			t.Errorf("%v series", value)
		}
	}
}
