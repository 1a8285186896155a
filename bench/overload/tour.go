package overload

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Tour runs experiments with all contestants.
type Tour struct {
	Experiments []string
	Contestants []string // by name; none: all
	// Repeats is how often everything is run, each time in an order of its own.
	// 0 runs what Earlier lacks: the repeats that others of its experiment have.
	Repeats int
	AtOnce  int // how many runs that wait, and do not compute, share the machine at a time
	Log     io.Writer
	// Earlier is what the results are added to; nil: nothing.
	Earlier *Report
	// Keep is given the report after each round, and after one that was stopped.
	Keep func(*Report) error

	do func(context.Context, Run) (*Result, error) // nil: in a process of its own
}

// Report is what a tour has shown.
type Report struct {
	Date    time.Time // when it was begun
	Machine string
	Best    map[string]map[string]string // the best setting by kind of service and contestant
	Tried   []*Result                    // the settings that the best were chosen from
	Results []*Result
	Skipped map[string]string // experiments that cannot be run here, and why
}

// Kinds of services, for which a contestant has a best setting each.
const (
	waits    = "waits"
	computes = "computes"
)

// kindOf is the kind of service of an experiment.
func kindOf(experiment string) string {
	if strings.HasPrefix(experiment, "E2") {
		return computes
	}
	return waits
}

// trial is the experiment that finds the best setting.
var trial = map[string]string{waits: "E1-3x", computes: "E2-pieces"}

// Run tries the settings that were not tried, and then repeats every experiment
// with the first and the best setting of each contestant. A run that fails costs
// the others nothing; the error names all of them. The report is that of what
// has ended, also when the context has.
func (t *Tour) Run(ctx context.Context) (*Report, error) {
	r, err := t.begin()
	if err != nil {
		return nil, err
	}
	tried, err := t.all(ctx, t.trials(r))
	r.Tried = append(r.Tried, tried...)
	r.choose()
	err = errors.Join(err, t.keep(ctx, r, tried))
	for round := 0; ctx.Err() == nil && round < max(t.Repeats, 1); round++ {
		runs := t.round(r)
		if t.Repeats == 0 {
			runs = t.lacking(r)
		}
		results, failed := t.all(ctx, runs)
		r.Results = append(r.Results, results...)
		err = errors.Join(err, failed, t.keep(ctx, r, results))
	}
	return r, err
}

// keep hands over the report, unless the tour was stopped before anything new
// stands in it: then what was there is worth more.
func (t *Tour) keep(ctx context.Context, r *Report, ended []*Result) error {
	if t.Keep == nil || ctx.Err() != nil && len(ended) == 0 {
		return nil
	}
	return t.Keep(r)
}

// trials are the settings that have not been tried.
func (t *Tour) trials(r *Report) (runs []Run) {
	for _, kind := range t.kinds() {
		for _, c := range t.contestants() {
			for _, s := range c.Settings {
				if r.tried(kind, c.Name, s.Name) == nil {
					runs = append(runs, Run{c.Name, s.Name, trial[kind], 1})
				}
			}
		}
	}
	return runs
}

// skip leaves out what cannot be run here, and says why.
func (t *Tour) skip() map[string]string {
	skipped := map[string]string{}
	t.Experiments = slices.DeleteFunc(slices.Clone(t.Experiments), func(name string) bool {
		if e, ok := FindExperiment(name); !ok || !e.Quota {
			return false
		}
		err := QuotaHere()
		if err != nil {
			skipped[name] = err.Error()
			fmt.Fprintf(t.Log, "%s is not run: %v\n", name, err)
		}
		return err != nil
	})
	return skipped
}

func (t *Tour) kinds() (list []string) {
	for _, e := range t.Experiments {
		if kind := kindOf(e); !slices.Contains(list, kind) {
			list = append(list, kind)
		}
	}
	return list
}

func (t *Tour) contestants() []Contestant {
	return slices.DeleteFunc(Contestants(), func(c Contestant) bool {
		return len(t.Contestants) > 0 && !slices.Contains(t.Contestants, c.Name)
	})
}

// rows are every experiment with the first and the best setting of everybody.
func (t *Tour) rows(r *Report) (runs []Run) {
	for _, e := range t.Experiments {
		for _, c := range t.contestants() {
			first := c.Settings[0].Name
			runs = append(runs, Run{c.Name, first, e, 0})
			if other := r.Best[kindOf(e)][c.Name]; other != "" && other != first {
				runs = append(runs, Run{c.Name, other, e, 0})
			}
		}
	}
	return runs
}

// round is every row once more, each with the first seed that it has not had:
// those with as many repeats have had the same arrivals.
func (t *Tour) round(r *Report) []Run {
	had := r.had()
	runs := t.rows(r)
	for i := range runs {
		for runs[i].Seed = 1; had[runs[i]]; {
			runs[i].Seed++
		}
	}
	return runs
}

// lacking are the repeats that others of an experiment have had, and a row has
// not.
func (t *Tour) lacking(r *Report) (runs []Run) {
	had, most := r.had(), map[string]uint64{}
	for run := range had {
		most[run.Experiment] = max(most[run.Experiment], run.Seed)
	}
	for _, row := range t.rows(r) {
		for row.Seed = 1; row.Seed <= most[row.Experiment]; row.Seed++ {
			if !had[row] {
				runs = append(runs, row)
			}
		}
	}
	return runs
}

// best is for each contestant the setting with which the most of the critical
// calls were answered, times the share of the capacity that was of use.
func best(tried []*Result, experiment string) map[string]string {
	chosen := map[string]*Result{}
	for _, r := range tried {
		if r.Experiment != experiment {
			continue
		}
		if now := chosen[r.Contestant]; now == nil || r.score() > now.score() {
			chosen[r.Contestant] = r
		}
	}
	settings := map[string]string{}
	for name, r := range chosen {
		settings[name] = r.Setting
	}
	return settings
}

func (r *Result) score() float64 { return r.Good[priority.Critical.Index()] * r.Goodput }

// all runs everything in a shuffled order: what waits several at a time, and
// then what computes one by one. Once the context has ended it begins no more,
// and what was under way is not among the results.
func (t *Tour) all(ctx context.Context, runs []Run) ([]*Result, error) {
	rand.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	slices.SortStableFunc(runs, func(a, b Run) int { return -cmp.Compare(kindOf(a.Experiment), kindOf(b.Experiment)) })
	var mu sync.Mutex
	var results []*Result
	var failed error
	places := make(chan struct{}, max(t.AtOnce, 1))
	var group sync.WaitGroup
	for i, run := range runs {
		if kindOf(run.Experiment) == computes {
			group.Wait()
		}
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-places }()
			result, err := t.one(ctx, run)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && ctx.Err() != nil: // it was stopped, which is told once
				return
			case err != nil:
				failed = errors.Join(failed, err)
				fmt.Fprintf(t.Log, "%3d/%d  %v\n", i+1, len(runs), err)
				return
			}
			results = append(results, result)
			fmt.Fprintf(t.Log, "%3d/%d  %-12s %-24s %-28s critical %5.1f %%  goodput %5.1f %%\n", i+1, len(runs),
				run.Experiment, run.Contestant, run.Setting, 100*result.Good[priority.Critical.Index()], 100*result.Goodput)
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return results, fmt.Errorf("overload: stopped after %d of %d runs, which are kept: %w", len(results), len(runs), err)
	}
	return results, failed
}

// one is a run, with the moment of its end.
func (t *Tour) one(ctx context.Context, run Run) (*Result, error) {
	do := t.do
	if do == nil {
		do = apart
	}
	result, err := do(ctx, run)
	if err == nil {
		result.At = time.Now().Truncate(time.Second)
	}
	return result, err
}

// apart runs in a process of its own, this program once more.
func apart(ctx context.Context, r Run) (*Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("overload: %w", err)
	}
	var out, complaints bytes.Buffer
	command := exec.CommandContext(ctx, self, "run", "-contestant", r.Contestant, "-setting", r.Setting,
		"-experiment", r.Experiment, "-seed", fmt.Sprint(r.Seed))
	command.Stdout, command.Stderr = &out, &complaints
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // so that it ends its service too
	command.WaitDelay = 3 * time.Second
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("overload: %s of %s in %s: %w\n%s", r.Setting, r.Contestant, r.Experiment, err, &complaints)
	}
	line := out.Bytes()
	if at := bytes.LastIndexByte(bytes.TrimSpace(line), '\n'); at >= 0 {
		line = line[at+1:] // some contestants write to the standard output
	}
	result := new(Result)
	if err := json.Unmarshal(line, result); err != nil {
		return nil, fmt.Errorf("overload: %s of %s: %w", r.Setting, r.Contestant, err)
	}
	return result, nil
}
