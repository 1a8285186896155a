package telemetry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

func TestAScrapeTellsWhatHappened(t *testing.T) {
	observer := made(t, Config{})
	p := observed(t, observer,
		pipeline.Entry{Name: "limit", Kind: "ratelimit", Stage: refusing("refused", pipeline.RateLimited)},
		pipeline.Entry{Name: "dark", Kind: "fleetshed", Mode: pipeline.Shadow, Stage: refusing("shadowed", pipeline.FleetShed)},
		pipeline.Entry{Name: "broken", OnFault: pipeline.Open, Stage: panicking("panics")},
	)
	for _, c := range []struct {
		host  string
		class priority.Class
		end   pipeline.Outcome
	}{
		{"fine", priority.Critical, pipeline.Completed},
		{"fine", priority.Critical, pipeline.Dropped},
		{"refused", priority.Low, 0},
		{"shadowed", priority.Low, pipeline.NotRun},
		{"panics", priority.Low, pipeline.Ignored},
	} {
		run(t.Context(), p, &pipeline.Request{Subject: match.Subject{Host: c.host}, Class: c.class}, c.end)
	}
	held := &pipeline.Request{Class: priority.Critical}
	p.Acquire(t.Context(), held)
	defer p.Release(held, pipeline.Result{})
	wantLines(t, scrape(t, observer),
		`plimsoll_requests_total{class="critical",outcome="admitted"} 3`,
		`plimsoll_requests_total{class="low",outcome="admitted"} 2`,
		`plimsoll_requests_total{class="low",outcome="rejected"} 1`,
		`plimsoll_requests_total{class="low",outcome="abandoned"} 0`,
		`plimsoll_refusals_total{class="low",entry="limit",mode="enforce",reason="rate-limited",stage="ratelimit"} 1`,
		`plimsoll_refusals_total{class="low",entry="dark",mode="shadow",reason="fleet-shed",stage="fleetshed"} 1`,
		`plimsoll_released_total{class="critical",outcome="completed"} 1`,
		`plimsoll_released_total{class="critical",outcome="dropped"} 1`,
		`plimsoll_released_total{class="low",outcome="ignored"} 1`,
		`plimsoll_released_total{class="low",outcome="not-run"} 1`,
		`plimsoll_faults_total{entry="broken",kind="panic"} 1`,
		`plimsoll_faults_total{entry="",kind="store"} 0`,
		`plimsoll_in_flight 1`,
		`plimsoll_entry_mode{entry="dark",mode="shadow",stage="fleetshed"} 1`,
		`plimsoll_decision_duration_seconds_count{class="low",outcome="rejected"} 1`,
		`plimsoll_request_duration_seconds_count{class="critical",outcome="completed"} 1`,
		`plimsoll_request_duration_seconds_bucket{class="critical",outcome="completed",le="+Inf"} 1`,
	)
}

// promtool check metrics holds names, units and help to the same rules.
func TestMetricsAreNamedAsTheyShould(t *testing.T) {
	observer := made(t, Config{Sources: everySource()})
	observed(t, observer, pipeline.Entry{Name: "limit", Stage: refusing("", pipeline.RateLimited)})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(observer)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Whatever clients send, they make no series.
func TestClientsMakeNoSeries(t *testing.T) {
	observer := made(t, Config{Sources: everySource()})
	p := observed(t, observer, pipeline.Entry{Name: "limit", Stage: looker(func(r *pipeline.Request) pipeline.Decision {
		if len(r.Path)%2 == 0 {
			return pipeline.Refuse(pipeline.CallerBlocked)
		}
		return pipeline.Decision{}
	})})
	odd := func(i int) *pipeline.Request {
		return &pipeline.Request{
			Subject: match.Subject{Method: fmt.Sprintf("M%d", i), Host: fmt.Sprint(i, ".test"), Path: "/" + strings.Repeat("x", i%7) + "\xff"},
			Caller:  pipeline.Caller{Name: fmt.Sprintf("caller-%d", i)},
			Class:   priority.Class(i), // most are no class at all
		}
	}
	for i := range 2000 {
		run(t.Context(), p, odd(i), pipeline.Outcome(i))
	}
	before := series(scrape(t, observer))
	for i := range 100_000 {
		run(t.Context(), p, odd(i), pipeline.Outcome(i))
	}
	if after := series(scrape(t, observer)); after != before {
		t.Errorf("%d series became %d", before, after)
	}
}

// Plans that rename their entries for ever make a bounded number of series,
// and lose no count.
func TestPlansMakeBoundedSeries(t *testing.T) {
	observer := made(t, Config{})
	p := observed(t, observer, pipeline.Entry{Name: "first", Stage: refusing("", pipeline.FleetShed)})
	const renamed = 500
	for i := range renamed {
		run(t.Context(), p, &pipeline.Request{}, 0)
		err := p.Swap(plan(t, pipeline.Entry{Name: fmt.Sprint("entry ", i), Stage: refusing("", pipeline.FleetShed)}))
		if err != nil {
			t.Fatal(err)
		}
	}
	text := scrape(t, observer)
	wantLines(t, text,
		`plimsoll_refusals_total{class="normal",entry="first",mode="enforce",reason="fleet-shed",stage="first"} 1`,
		fmt.Sprintf(`plimsoll_refusals_total{class="normal",entry="other",mode="enforce",reason="fleet-shed",stage="other"} %d`, renamed-mostEntries),
	)
	if n := strings.Count(text, "\nplimsoll_refusals_total{"); n != mostEntries+1 {
		t.Errorf("%d series of refusals, want %d", n, mostEntries+1)
	}
}

func TestCountsSurviveAChangeOfPlan(t *testing.T) {
	observer := made(t, Config{})
	entry := pipeline.Entry{Name: "limit", Stage: refusing("", pipeline.RateLimited)}
	p := observed(t, observer, entry)
	run(t.Context(), p, &pipeline.Request{}, 0)
	if err := p.Swap(plan(t, pipeline.Entry{Name: "another", Stage: refusing("none", 0)}, entry)); err != nil {
		t.Fatal(err)
	}
	run(t.Context(), p, &pipeline.Request{}, 0)
	wantLines(t, scrape(t, observer),
		`plimsoll_refusals_total{class="normal",entry="limit",mode="enforce",reason="rate-limited",stage="limit"} 2`)
}

func TestTwoPipelinesShareARegistry(t *testing.T) {
	first, second := made(t, Config{Pipeline: "a"}), made(t, Config{Pipeline: "b"})
	p := observed(t, first)
	run(t.Context(), p, &pipeline.Request{}, 0)
	wantLines(t, scrape(t, first, second),
		`plimsoll_requests_total{class="normal",outcome="admitted",pipeline="a"} 1`,
		`plimsoll_requests_total{class="normal",outcome="admitted",pipeline="b"} 0`,
	)
	registry := prometheus.NewRegistry()
	registry.MustRegister(first)
	if registry.Register(made(t, Config{Pipeline: "a"})) == nil || registry.Register(made(t, Config{})) == nil {
		t.Error("two pipelines that cannot be told apart were registered")
	}
}

// A label that is no UTF-8, or two that are the same in UTF-8, would make the
// whole scrape an error.
func TestLabelsOfAnyBytes(t *testing.T) {
	observer := made(t, Config{Sources: []Source{{BuildInfo, func() []Point {
		return []Point{{[]string{"v\xff\n\"", "go"}, 1}, {[]string{"v\xfe\n\"", "go"}, 1}}
	}}}})
	p := observed(t, observer,
		pipeline.Entry{Name: "a\xff", Kind: "k", Stage: refusing("one", pipeline.FleetShed)},
		pipeline.Entry{Name: "a\xfe", Kind: "k", Stage: refusing("two", pipeline.FleetShed)},
	)
	for _, host := range []string{"one", "two"} {
		run(t.Context(), p, &pipeline.Request{Subject: match.Subject{Host: host}}, 0)
	}
	wantLines(t, scrape(t, observer),
		`plimsoll_refusals_total{class="normal",entry="a`+"\uFFFD"+`",mode="enforce",reason="fleet-shed",stage="k"} 2`,
		`plimsoll_build_info{go="go",version="v`+"\uFFFD"+`\n\""} 1`,
	)
}

// Everything at once, and far more entries than plans have.
func TestAScrapeIsSmall(t *testing.T) {
	observer := made(t, Config{Pipeline: "payments", Sources: everySource()})
	for i := range 16 {
		for _, class := range priority.All {
			for reason := range pipeline.Reason(2) {
				cell := observer.entries.of(0, fmt.Sprint("concurrency-limit-", i), "concurrency")
				cell.refusals[0][i%2][class.Index()][1+reason].Add(1 << 40)
			}
		}
	}
	if size := len(scrape(t, observer)); size > 200_000 {
		t.Errorf("a scrape has %d bytes", size)
	} else {
		t.Logf("a scrape has %d bytes", size)
	}
}
