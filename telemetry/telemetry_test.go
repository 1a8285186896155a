package telemetry

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

func TestFaultyConfigurationIsAllNamed(t *testing.T) {
	none := func() []Point { return nil }
	_, err := New(Config{Pipeline: "\xff", Sources: []Source{
		{Metric: "plimsoll.nothing", Read: none},
		{Metric: Requests, Read: none},
		{Metric: InFlight, Read: none},
		{Metric: Serving},
		{Metric: Serving, Read: none},
	}})
	if err == nil {
		t.Fatal("nothing is wrong with it")
	}
	for _, want := range []string{
		`Pipeline "\xff" must be`, `Sources[0]: "plimsoll.nothing" is no metric that is given`, `Sources[1]: "plimsoll.requests" is no metric that is given`,
		`Sources[2]: "plimsoll.in_flight" is no metric that is given`, "Sources[3]: plimsoll.serving needs a Read", "Sources[4]: plimsoll.serving is given twice",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in:\n%v", want, err)
		}
	}
	if _, err := New(Config{Sources: []Source{{Serving, none}, {ConfigOK, none}}}); err != nil {
		t.Error(err)
	}
}

// Whatever happens, as many are counted as there were: requests by class and
// outcome, ends, and refusals by entry.
func TestCountsAreExact(t *testing.T) {
	classes := rapid.SampledFrom(priority.All[:])
	hosts := rapid.SampledFrom([]string{"fine", "rate", "fleet"})
	rapid.Check(t, func(rt *rapid.T) {
		observer := made(t, Config{})
		p := observed(t, observer,
			pipeline.Entry{Name: "one", Stage: refusing("rate", pipeline.RateLimited)},
			pipeline.Entry{Name: "two", Stage: refusing("fleet", pipeline.FleetShed)},
		)
		var decided [priority.Count][outcomes]uint64
		var released [priority.Count][ends]uint64
		for range rapid.IntRange(0, 60).Draw(rt, "requests") {
			class, host := classes.Draw(rt, "class"), hosts.Draw(rt, "host")
			end := pipeline.Outcome(rapid.IntRange(0, int(ends)-1).Draw(rt, "end"))
			run(t.Context(), p, &pipeline.Request{Subject: match.Subject{Host: host}, Class: class}, end)
			if host == "fine" {
				decided[class.Index()][admitted]++
				released[class.Index()][end]++
			} else {
				decided[class.Index()][rejected]++
			}
		}
		for class := range priority.Count {
			for o := range outcomes {
				if sum := observer.decided(class, o); sum.total() != decided[class][o] || sum.timed() != decided[class][o] {
					rt.Errorf("class %d, %v: %d, %d of them timed, want %d", class, o, sum.total(), sum.timed(), decided[class][o])
				}
			}
			for end := range ends {
				if sum := observer.ended(class, end); sum.total() != released[class][end] {
					rt.Errorf("class %d ended as %d: %d, want %d", class, end, sum.total(), released[class][end])
				}
			}
			refusals := observer.entries.of(0, "one", "one").refused(pipeline.Enforce, class, pipeline.RateLimited) +
				observer.entries.of(1, "two", "two").refused(pipeline.Enforce, class, pipeline.FleetShed)
			if refusals != decided[class][rejected] {
				rt.Errorf("class %d: %d refusals, want %d", class, refusals, decided[class][rejected])
			}
		}
	})
}

// Processors that count at once lose nothing, also of a name that comes new.
func TestCountingAtOnce(t *testing.T) {
	const workers, each = 8, 500
	observer := made(t, Config{})
	p := observed(t, observer, pipeline.Entry{Name: "one", Stage: refusing("", pipeline.RateLimited)})
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range each {
				run(t.Context(), p, &pipeline.Request{}, 0)
				observer.Points(Refusals)
			}
		})
	}
	group.Wait()
	sum := observer.decided(priority.Normal.Index(), rejected)
	refused := observer.entries.of(0, "one", "one").refused(pipeline.Enforce, priority.Normal.Index(), pipeline.RateLimited)
	if sum.total() != workers*each || refused != workers*each {
		t.Errorf("%d decisions and %d refusals, want %d of both", sum.total(), refused, workers*each)
	}
}

func TestDurationsAreThoseOfTheRequest(t *testing.T) {
	observer := made(t, Config{})
	r := &pipeline.Request{Now: int64(time.Second)}
	observer.Released(r, pipeline.Result{At: int64(1300 * time.Millisecond)})
	observer.Released(r, pipeline.Result{At: int64(time.Hour), Outcome: pipeline.Ignored})
	observer.Decided(r, pipeline.Decision{})
	text := scrape(t, observer)
	wantLines(t, text,
		`plimsoll_request_duration_seconds_bucket{class="normal",outcome="completed",le="0.2"} 0`,
		`plimsoll_request_duration_seconds_bucket{class="normal",outcome="completed",le="0.5"} 1`,
		`plimsoll_request_duration_seconds_bucket{class="normal",outcome="completed",le="1"} 1`, // and all that are longer
		`plimsoll_request_duration_seconds_bucket{class="normal",outcome="ignored",le="1000"} 0`,
		`plimsoll_request_duration_seconds_count{class="normal",outcome="ignored"} 1`,
		`plimsoll_request_duration_seconds_sum{class="normal",outcome="completed"} 0.3`,
		`plimsoll_decision_duration_seconds_count{class="normal",outcome="admitted"} 0`, // nobody is followed
		`plimsoll_requests_total{class="normal",outcome="admitted"} 1`,
	)
}

// A client that left is abandoned; faults that no entry has count apart; what
// a later version of the pipeline tells is no index out of range.
func TestUncommonReports(t *testing.T) {
	observer := made(t, Config{})
	r := &pipeline.Request{}
	observer.Decided(r, pipeline.Decision{Verdict: pipeline.Abandon})
	observer.Decided(r, pipeline.Decision{Verdict: 99, Reason: 99})
	observer.Shadowed(r, pipeline.Decision{Verdict: pipeline.Reject, Reason: 99})
	observer.Fault(nil, 3, pipeline.Fault{Kind: pipeline.StoreFault})
	observer.Fault(r, -1, pipeline.Fault{Kind: 99})
	observer.Fault(r, 4, pipeline.Fault{Kind: pipeline.PanicFault})
	observer.Released(r, pipeline.Result{Outcome: 99})
	wantLines(t, scrape(t, observer),
		`plimsoll_requests_total{class="normal",outcome="abandoned"} 2`,
		`plimsoll_refusals_total{class="normal",entry="",mode="shadow",reason="unknown",stage=""} 1`,
		`plimsoll_faults_total{entry="",kind="store"} 1`,
		`plimsoll_faults_total{entry="",kind="switched-off"} 1`,
		`plimsoll_faults_total{entry="",kind="panic"} 1`,
		`plimsoll_released_total{class="normal",outcome="not-run"} 1`,
	)
}

func TestCountingDoesNotAllocate(t *testing.T) {
	observer := made(t, Config{})
	p := observed(t, observer,
		pipeline.Entry{Name: "dark", Mode: pipeline.Shadow, Stage: refusing("", pipeline.FleetShed)},
		pipeline.Entry{Name: "one", Stage: refusing("refused", pipeline.RateLimited)},
	)
	ctx := context.Background()
	for _, host := range []string{"", "refused"} {
		r := &pipeline.Request{Subject: match.Subject{Host: host}}
		n := testing.AllocsPerRun(100, func() {
			run(ctx, p, r, pipeline.Completed)
			observer.Fault(r, 0, pipeline.Fault{})
		})
		if n != 0 {
			t.Errorf("host %q: %v allocations for each request", host, n)
		}
	}
}
