package overload

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func (r *Result) with(seed uint64) *Result {
	r.Seed = seed
	return r
}

// played is a tour whose runs end at once, and what it has run.
func played(earlier *Report, repeats int, contestants ...string) (*Tour, *[]Run) {
	ran := new([]Run)
	return &Tour{
		Experiments: []string{"E1-3x"}, Contestants: contestants, Repeats: repeats, Earlier: earlier, Log: io.Discard,
		do: func(_ context.Context, r Run) (*Result, error) {
			*ran = append(*ran, r)
			share := 0.5
			if r.Setting == "20" {
				share = 1
			}
			return result(r.Contestant, r.Setting, r.Experiment, share, 0.5).with(r.Seed), nil
		},
	}, ran
}

func mustRun(t *testing.T, tour *Tour) *Report {
	t.Helper()
	r, err := tour.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// seeds are those of a contestant, in all settings.
func seeds(r *Report, contestant string) (list []uint64) {
	for _, result := range r.Results {
		if result.Contestant == contestant {
			list = append(list, result.Seed)
		}
	}
	return list
}

func TestATourGoesOnWhereAnEarlierOneEnded(t *testing.T) {
	first, _ := played(nil, 2, "nothing")
	r := mustRun(t, first)
	if len(r.Tried) != 1 || len(seeds(r, "nothing")) != 2 {
		t.Fatalf("at first: %d tried, seeds %v", len(r.Tried), seeds(r, "nothing"))
	}
	r.Best[waits]["nothing"] = "none"
	second, ran := played(r, 1, "nothing", "fixed cap")
	r = mustRun(t, second)
	if got := seeds(r, "nothing"); len(got) != 3 || got[2] != 3 {
		t.Errorf("seeds of nothing: %v, want the third added", got)
	}
	if got := seeds(r, "fixed cap"); len(got) != 1 || got[0] != 1 {
		t.Errorf("seeds of the fixed cap: %v: its first are those that others had first", got)
	}
	if len(*ran) != 3+2 {
		t.Errorf("ran %v, want three settings of the fixed cap tried, and one run of each", *ran)
	}
	third, ran := played(r, 0, "nothing", "fixed cap")
	if r = mustRun(t, third); len(*ran) != 2 || len(seeds(r, "fixed cap")) != 3 {
		t.Errorf("ran %v, want what the fixed cap lacked", *ran)
	}
}

func TestWhatIsForgottenIsRunAgain(t *testing.T) {
	first, _ := played(nil, 2, "nothing", "fixed cap")
	r := mustRun(t, first)
	r.Forget([]string{"E1-3x"}, []string{"fixed cap"})
	if len(seeds(r, "fixed cap")) != 0 || len(seeds(r, "nothing")) != 2 || r.Best[waits]["fixed cap"] != "" {
		t.Fatalf("left: %+v", r)
	}
	again, ran := played(r, 0, "fixed cap")
	if r = mustRun(t, again); len(*ran) != 3+2 || len(seeds(r, "fixed cap")) != 2 || r.Best[waits]["fixed cap"] == "" {
		t.Errorf("ran %v, best %v", *ran, r.Best)
	}
}

func TestTheBestSettingIsKeptWhileThereIsOne(t *testing.T) {
	r := &Report{Machine: machine(), Best: map[string]map[string]string{waits: {"fixed cap": "40", "nothing": "gone"}}, Tried: []*Result{
		result("fixed cap", "20", "E1-3x", 1, 1), result("fixed cap", "40", "E1-3x", 0.5, 0.5), result("nothing", "none", "E1-3x", 0, 0),
	}}
	r.choose()
	if best := r.Best[waits]; best["fixed cap"] != "40" || best["nothing"] != "none" {
		t.Errorf("chosen: %v", best)
	}
}

func TestResultsOfAnotherMachineAreNotAddedTo(t *testing.T) {
	tour, ran := played(&Report{Machine: "Z80, 1 cores, go1.0"}, 1, "nothing")
	r, err := tour.Run(t.Context())
	if err == nil || r != nil || !strings.Contains(err.Error(), "Z80, 1 cores, go1.0") || !strings.Contains(err.Error(), machine()) || len(*ran) > 0 {
		t.Errorf("%v, %v; ran %v", r, err, *ran)
	}
}

func TestARunThatFailsCostsTheOthersNothing(t *testing.T) {
	tour, _ := played(nil, 2, "nothing", "fixed cap")
	well, broken := tour.do, errors.New("it broke")
	tour.do = func(ctx context.Context, r Run) (*Result, error) {
		if r.Contestant == "nothing" {
			return nil, broken
		}
		return well(ctx, r)
	}
	kept := 0
	tour.Keep = func(*Report) error { kept++; return nil }
	r, err := tour.Run(t.Context())
	if !errors.Is(err, broken) || len(seeds(r, "fixed cap")) != 2 || len(seeds(r, "nothing")) != 0 || kept != 3 {
		t.Errorf("%v; %d results, kept %d times", err, len(r.Results), kept)
	}
}

func TestATourThatIsStoppedKeepsWhatHasEnded(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	tour, ran := played(nil, 5, "nothing", "fixed cap")
	well := tour.do
	tour.do = func(ctx context.Context, r Run) (*Result, error) {
		if len(*ran) == 6 { // four trials, and two of the first round
			stop()
			return nil, ctx.Err()
		}
		return well(ctx, r)
	}
	var kept *Report
	tour.Keep = func(r *Report) error { kept = r; return nil }
	_, err := tour.Run(ctx)
	if !errors.Is(err, context.Canceled) || kept == nil || len(kept.Results) != 2 || len(*ran) != 6 {
		t.Fatalf("%v; ran %d, kept %+v", err, len(*ran), kept)
	}
}

func TestATourThatIsStoppedAtOnceReplacesNothing(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var log strings.Builder
	tour, _ := played(nil, 5, "nothing", "fixed cap")
	tour.Log = &log
	tour.do = func(ctx context.Context, _ Run) (*Result, error) {
		stop()
		return nil, ctx.Err()
	}
	tour.Keep = func(*Report) error { t.Error("a report without a result was kept"); return nil }
	_, err := tour.Run(ctx)
	if !errors.Is(err, context.Canceled) || log.Len() > 0 || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v; %s", err, &log)
	}
}

func TestDaysAreTheFirstAndTheLast(t *testing.T) {
	r := &Report{Date: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	old, later := &Result{}, &Result{At: time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)}
	for want, results := range map[string][]*Result{
		"2026-11-30": {old}, "2026-12-02": {later, later}, "2026-11-30 to 2026-12-02": {later, old},
	} {
		if got := r.days(results); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	r.Results = []*Result{result("a", "x", "E1-3x", 1, 1), result("a", "x", "E1-3x", 1, 1), result("b", "x", "E1-3x", 1, 1), result("b", "x", "E1-8x", 1, 1)}
	page := r.Markdown()
	for _, want := range []string{"1 to 2 repeats, as the column n says, 2026-11-30.", "One run each, 2026-11-30."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}
