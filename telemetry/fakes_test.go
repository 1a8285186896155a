package telemetry

import (
	"context"
	"strings"
	"testing"

	"net/http/httptest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// looker is a stage that answers by a function.
type looker func(*pipeline.Request) pipeline.Decision

func (l looker) Look(r *pipeline.Request) pipeline.Decision { return l(r) }

// refusing refuses requests of a host, for a reason.
func refusing(host string, reason pipeline.Reason) looker {
	return func(r *pipeline.Request) pipeline.Decision {
		if r.Host == host {
			return pipeline.Refuse(reason)
		}
		return pipeline.Decision{}
	}
}

func panicking(host string) looker {
	return func(r *pipeline.Request) pipeline.Decision {
		if r.Host == host {
			panic("planted")
		}
		return pipeline.Decision{}
	}
}

func made(t testing.TB, c Config) *Telemetry {
	t.Helper()
	made, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func plan(t testing.TB, entries ...pipeline.Entry) *pipeline.Plan {
	t.Helper()
	plan, err := pipeline.NewPlan(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// observed is a pipeline that a Telemetry observes and follows.
func observed(t testing.TB, observer *Telemetry, entries ...pipeline.Entry) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(pipeline.Config{Plan: plan(t, entries...), Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	observer.Follow(p)
	return p
}

// run decides one request and ends it at once, unless it was refused.
func run(ctx context.Context, p *pipeline.Pipeline, r *pipeline.Request, end pipeline.Outcome) {
	if p.Acquire(ctx, r).Verdict == pipeline.Admit {
		p.Release(r, pipeline.Result{Outcome: end})
	}
}

// scrape is what Prometheus would get.
func scrape(t testing.TB, collectors ...prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("a scrape answered %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// series counts the lines of a scrape that are series.
func series(text string) (n int) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

func wantLines(t testing.TB, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("a scrape lacks %s", line)
		}
	}
}

// everySource gives every metric that is given, with two values each.
func everySource() (list []Source) {
	for i := range definitions {
		d := &definitions[i]
		if !d.Given() {
			continue
		}
		list = append(list, Source{d.Name, func() (points []Point) {
			for _, value := range []string{"one", "two"} {
				point := Point{Value: 1}
				for range d.Labels {
					point.Labels = append(point.Labels, value)
				}
				points = append(points, point)
			}
			return points
		}})
	}
	return list
}
