package overload

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// begin is the report that the tour adds to: an earlier one of this machine, or
// a new one.
func (t *Tour) begin() (*Report, error) {
	r := t.Earlier
	if r == nil {
		r = &Report{Date: time.Now(), Machine: machine()}
	}
	if here := machine(); r.Machine != here {
		return nil, fmt.Errorf("overload: the earlier results are of another machine or version of Go (%s) than this (%s); only results of the same may be added to, so choose another folder",
			r.Machine, here)
	}
	if r.Best == nil {
		r.Best = map[string]map[string]string{}
	}
	for _, result := range slices.Concat(r.Tried, r.Results) {
		if result.At.IsZero() { // of a report that knew only one date
			result.At = r.Date
		}
	}
	skipped := t.skip()
	if r.Skipped == nil {
		r.Skipped = map[string]string{}
	}
	for _, e := range t.Experiments {
		delete(r.Skipped, e)
	}
	maps.Copy(r.Skipped, skipped)
	return r, nil
}

// Forget removes what contestants have shown in experiments, and those of their
// settings that were tried for it, as after a change of theirs. No contestants
// are all.
func (r *Report) Forget(experiments, contestants []string) {
	of := func(name string) bool { return len(contestants) == 0 || slices.Contains(contestants, name) }
	kinds := map[string]bool{}
	for _, e := range experiments {
		kinds[kindOf(e)] = true
	}
	r.Results = slices.DeleteFunc(r.Results, func(result *Result) bool {
		return of(result.Contestant) && slices.Contains(experiments, result.Experiment)
	})
	r.Tried = slices.DeleteFunc(r.Tried, func(result *Result) bool {
		return of(result.Contestant) && kinds[kindOf(result.Experiment)]
	})
	for kind := range kinds {
		maps.DeleteFunc(r.Best[kind], func(name, _ string) bool { return of(name) })
	}
}

// choose fills in the best settings of those who have none, or one that is no
// more.
func (r *Report) choose() {
	for _, kind := range []string{waits, computes} {
		for name, setting := range best(r.Tried, trial[kind]) {
			if r.Best[kind] == nil {
				r.Best[kind] = map[string]string{}
			}
			if _, known := Find(name, r.Best[kind][name]); !known {
				r.Best[kind][name] = setting
			}
		}
	}
}

// had are the runs whose results are there.
func (r *Report) had() map[Run]bool {
	had := map[Run]bool{}
	for _, result := range r.Results {
		had[result.Run] = true
	}
	return had
}

// days are the first and the last day of results, as one or as a span.
func (r *Report) days(results []*Result) string {
	if len(results) == 0 {
		return r.Date.Format(time.DateOnly)
	}
	at := func(result *Result) time.Time {
		if result.At.IsZero() {
			return r.Date
		}
		return result.At
	}
	sorted := slices.SortedFunc(slices.Values(results), func(a, b *Result) int { return at(a).Compare(at(b)) })
	first, last := at(sorted[0]).Format(time.DateOnly), at(sorted[len(sorted)-1]).Format(time.DateOnly)
	if first == last {
		return first
	}
	return first + " to " + last
}
