package overload

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/priority"
)

// machine is the processor, as the system names it.
func machine() string {
	name := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			name = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", name, runtime.NumCPU(), runtime.Version())
}

// Row is a contestant with a setting in an experiment: medians over the
// repeats, with the least and the most.
type Row struct {
	Contestant, Setting string
	Runs                int
	Good                [priority.Count]float64
	Critical            Spread
	Worst               Spread // second for critical
	Goodput             Spread
	Late                Spread
	P99                 Spread // ms
	FalseShed           Spread
	Recovery            Spread // s
	Changes             Spread
	Attempts            Spread
	FirstRefusal        Spread   // s after the step; never: none
	Streams             Spread   // share that was admitted
	Meanwhile           Spread   // critical while calls take longer
	Seconds             []Second // medians
	Unreliable          int      // runs in which the driver was late
}

// Spread is the median and the range of the repeats.
type Spread struct{ Least, Median, Most float64 }

func spread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	return Spread{values[0], median(values), values[len(values)-1]}
}

// median is that of sorted values: of an even number the mean of the two in the
// middle, unless one of them is no value.
func median(values []float64) float64 {
	low, high := values[(len(values)-1)/2], values[len(values)/2]
	if high == never {
		return never
	}
	return (low + high) / 2
}

// Rows are the rows of an experiment, the best first.
func (r *Report) Rows(experiment string) (rows []Row) {
	type key struct{ contestant, setting string }
	groups := map[key][]*Result{}
	for _, result := range r.of(experiment) {
		k := key{result.Contestant, result.Setting}
		groups[k] = append(groups[k], result)
	}
	for k, results := range groups {
		rows = append(rows, newRow(k.contestant, k.setting, results))
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(-cmp.Compare(a.Critical.Median*a.Goodput.Median, b.Critical.Median*b.Goodput.Median), cmp.Compare(a.Contestant+a.Setting, b.Contestant+b.Setting))
	})
	return rows
}

// of are the results of an experiment.
func (r *Report) of(experiment string) (list []*Result) {
	for _, result := range r.Results {
		if result.Experiment == experiment {
			list = append(list, result)
		}
	}
	return list
}

func newRow(contestant, setting string, results []*Result) Row {
	of := func(figure func(*Result) float64) Spread {
		values := make([]float64, len(results))
		for i, r := range results {
			values[i] = figure(r)
		}
		return spread(values)
	}
	row := Row{
		Contestant: contestant, Setting: setting, Runs: len(results),
		Critical:     of(func(r *Result) float64 { return r.Good[priority.Critical.Index()] }),
		Worst:        of(func(r *Result) float64 { return r.WorstSecond }),
		Goodput:      of(func(r *Result) float64 { return r.Goodput }),
		Late:         of(func(r *Result) float64 { return r.Late }),
		P99:          of(func(r *Result) float64 { return r.P99.Seconds() * 1000 }),
		FalseShed:    of(func(r *Result) float64 { return r.FalseShed }),
		Recovery:     of((*Result).recovery),
		Changes:      of(func(r *Result) float64 { return r.Changes }),
		Attempts:     of(func(r *Result) float64 { return r.Attempts }),
		Streams:      of(func(r *Result) float64 { return r.Streams }),
		Meanwhile:    of((*Result).meanwhile),
		FirstRefusal: of(func(r *Result) float64 { return orNever(r.FirstRefusal) }),
	}
	for class := range row.Good {
		row.Good[class] = of(func(r *Result) float64 { return r.Good[class] }).Median
	}
	for i := range results[0].Seconds {
		row.Seconds = append(row.Seconds, middle(results, i))
	}
	for _, r := range results {
		if r.Unreliable {
			row.Unreliable++
		}
	}
	return row
}

// never is the recovery of a run that ended before it.
const never = 999

func (r *Result) recovery() float64 { return orNever(r.Recovery) }

// meanwhile is the share of critical calls answered in time while calls take
// longer.
func (r *Result) meanwhile() float64 {
	e, _ := FindExperiment(r.Experiment)
	from, good, offered := 0.0, 0.0, 0.0
	for phase := range e.Phases {
		to := from + e.Phases[phase].Duration.Seconds()
		for _, s := range r.Seconds {
			if e.Slow[phase] > 1 && s.At >= from && s.At < to {
				good, offered = good+s.CriticalGood, offered+s.CriticalOffered
			}
		}
		from = to
	}
	return share(good, offered)
}

func orNever(seconds float64) float64 {
	if seconds < 0 {
		return never
	}
	return seconds
}

// middle is the median of one second, as shares of the capacity.
func middle(results []*Result, i int) Second {
	of := func(figure func(*Second) float64) float64 {
		values := make([]float64, 0, len(results))
		for _, r := range results {
			if i < len(r.Seconds) {
				values = append(values, figure(&r.Seconds[i])/r.Capacity)
			}
		}
		return spread(values).Median
	}
	return Second{
		At:      results[0].Seconds[i].At,
		Offered: of(func(s *Second) float64 { return s.Offered }), Good: of(func(s *Second) float64 { return s.Good }),
		Late: of(func(s *Second) float64 { return s.Late }), Refuse: of(func(s *Second) float64 { return s.Refuse }),
		CriticalOffered: of(func(s *Second) float64 { return s.CriticalOffered }),
		CriticalGood:    of(func(s *Second) float64 { return s.CriticalGood }),
	}
}
