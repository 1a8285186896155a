package dump

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// entries shows the plan in its order, and behind it the entries of earlier
// plans that refused something.
func entries(c *Config, w io.Writer) {
	refused, shadowed := sums{}, sums{}
	for _, p := range c.Telemetry.Points(telemetry.Refusals) {
		if p.Labels[4] == pipeline.Shadow.String() {
			shadowed[p.Labels[0]] += p.Value
		} else {
			refused[p.Labels[0]] += p.Value
		}
	}
	faults := sumOf(c.Telemetry, telemetry.Faults, 0)
	t := table{head: []string{"ENTRY", "STAGE", "MODE", "ON-FAULT", "REFUSED", "SHADOWED", "FAULTS"}}
	seen := map[string]bool{}
	plan := c.Pipeline.Plan()
	for i := range plan.Len() {
		e := plan.Entry(i)
		seen[e.Name] = true
		t.add(e.Name, e.Kind, e.Mode.String(), e.OnFault.String(), number(refused[e.Name]), number(shadowed[e.Name]), number(faults[e.Name]))
	}
	for _, p := range c.Telemetry.Points(telemetry.Refusals) {
		if name := p.Labels[0]; !seen[name] {
			seen[name] = true
			t.add(name, p.Labels[1], "gone", "-", number(refused[name]), number(shadowed[name]), number(faults[name]))
		}
	}
	t.write(w)
}

// classes shows the most important class first.
func classes(c *Config, w io.Writer) {
	decided := byPair(c.Telemetry.Points(telemetry.Requests))
	inFlight := sums{}
	for _, h := range c.Pipeline.Holders(mostHolders) {
		inFlight[h.Class]++
	}
	decision, request := quantiles(c.Telemetry, telemetry.DecisionDuration, "admitted"), quantiles(c.Telemetry, telemetry.RequestDuration, "completed")
	t := table{head: []string{
		"CLASS", "IN-FLIGHT", "ADMITTED", "REJECTED", "ABANDONED", "DECISION-P50", "DECISION-P99", "REQUEST-P50", "REQUEST-P99",
	}}
	for _, class := range slices.Backward(priority.All[:]) {
		name := class.String()
		t.add(name, number(inFlight[name]), number(decided[name]["admitted"]), number(decided[name]["rejected"]), number(decided[name]["abandoned"]),
			decision.of(name, 0), decision.of(name, 1), request.of(name, 0), request.of(name, 1))
	}
	t.write(w)
	reasons := table{head: []string{"CLASS", "REASON", "ENTRY", "MODE", "REFUSED"}}
	points := c.Telemetry.Points(telemetry.Refusals)
	slices.SortStableFunc(points, func(a, b telemetry.Point) int { return cmp.Compare(b.Value, a.Value) })
	for _, p := range points {
		reasons.add(p.Labels[3], p.Labels[2], p.Labels[0], p.Labels[4], number(p.Value))
	}
	io.WriteString(w, "\n")
	reasons.write(w)
}

// queues shows each worker shed: its levels, and each class.
func queues(c *Config, w io.Writer) {
	levels := figures(c.Telemetry, 0, telemetry.WorkerLimit, telemetry.WorkerLimitMax, telemetry.WorkerLevel, telemetry.WorkerStrain,
		telemetry.WorkerPinned, telemetry.WorkerUtilization, telemetry.WorkerDemand, telemetry.WorkerStreams, telemetry.WorkerHung)
	t := table{head: []string{"ENTRY", "LIMIT", "MAX", "LEVEL", "STRAIN", "PINNED", "UTILIZATION", "DEMAND", "STREAMS", "HUNG"}}
	levels.rows(&t)
	t.write(w)
	io.WriteString(w, "\n")
	lanes := figures(c.Telemetry, 1, telemetry.WorkerCap, telemetry.WorkerInFlight, telemetry.WorkerQueued, telemetry.WorkerAsking,
		telemetry.WorkerShed, telemetry.WorkerRefused)
	t = table{head: []string{"ENTRY", "CLASS", "CAP", "IN-FLIGHT", "QUEUED", "ASKING", "SHED", "REFUSED"}}
	lanes.rows(&t)
	t.write(w)
}

// mostHolders is how many requests in flight are looked at.
const mostHolders = 10_000

func holders(c *Config, w io.Writer) {
	list := c.Pipeline.Holders(mostHolders)
	slices.SortFunc(list, func(a, b pipeline.Holder) int { return cmp.Compare(a.Since, b.Since) })
	now := c.Pipeline.Now()
	t := table{head: []string{"AGE", "CLASS", "CALLER", "ROUTE", "LEFT", "STATE", "ID"}}
	for i := range list {
		h := &list[i]
		left := "-"
		if h.Deadline != 0 {
			left = duration(time.Duration(h.Deadline - now).Seconds())
		}
		t.add(duration(time.Duration(now-h.Since).Seconds()), h.Class, h.Caller, h.Route, left, stateOf(h), h.ID.String())
	}
	t.write(w)
}

func stateOf(h *pipeline.Holder) string {
	switch {
	case h.Gone:
		return "client-gone"
	case h.Detached:
		return "stream"
	}
	return "running"
}

func limits(c *Config, w io.Writer) {
	t := table{head: []string{"ENTRY", "LIMIT", "KEY", "AMOUNT"}, prose: true}
	if c.Limits != nil {
		for _, l := range c.Limits() {
			t.add(l.Entry, l.Name, l.Key, l.Amount)
		}
	}
	t.write(w)
}

func fleet(c *Config, w io.Writer) {
	all(c, w, telemetry.FleetWorkers, telemetry.FleetCapacity, telemetry.FleetUsage, telemetry.FleetDemand, telemetry.FleetLease,
		telemetry.FleetLeaseRemaining, telemetry.FleetBeatsMissed, telemetry.FleetLowTrust, telemetry.FleetLearning, telemetry.FleetGeneration,
		telemetry.FleetRoom, telemetry.FleetReserve, telemetry.FleetInFlight, telemetry.FleetStreams)
}

func stored(c *Config, w io.Writer) {
	all(c, w, telemetry.StoreState, telemetry.StoreUnderWay, telemetry.StoreFailures, telemetry.StoreReturnsQueued, telemetry.StoreReturns,
		telemetry.StoreKeys, telemetry.StoreKeysLimit, telemetry.StoreForgotten, telemetry.StoreSpilled, telemetry.Fallbacks)
}
