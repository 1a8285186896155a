package telemetry

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Config sets a Telemetry. The zero value counts one pipeline, and shows
// nothing that others know.
type Config struct {
	// Pipeline is the value of a label pipeline on every figure, to tell
	// several pipelines of a process apart: then each has one. At most 64
	// bytes of UTF-8. Default: no such label.
	Pipeline string
	// Gauges are figures that others know. Each Metric at most once.
	// Default: none, and no series of theirs.
	Gauges []Gauge
}

// Telemetry counts what one pipeline does.
type Telemetry struct {
	config   Config
	started  time.Time
	followed atomic.Pointer[pipeline.Pipeline]
	stripes  []stripe // a power of two of them
	entries  entries
	descs    []*prometheus.Desc // by index of definitions
}

var _ pipeline.Observer = (*Telemetry)(nil)

// New makes a Telemetry that has counted nothing. It registers nothing and
// starts nothing. The error names every fault.
func New(c Config) (*Telemetry, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	t := &Telemetry{config: c, started: time.Now(), stripes: make([]stripe, stripeCount())}
	t.entries.stripes = len(t.stripes)
	t.describe()
	return t, nil
}

func (c *Config) validate() error {
	var errs []error
	if len(c.Pipeline) > 64 || !utf8.ValidString(c.Pipeline) {
		errs = append(errs, fmt.Errorf("telemetry: Pipeline %.80q must be at most 64 bytes of UTF-8", c.Pipeline))
	}
	seen := map[Metric]bool{}
	for i, g := range c.Gauges {
		if err := g.check(seen[g.Metric]); err != nil {
			errs = append(errs, fmt.Errorf("telemetry: Gauges[%d]: %w", i, err))
		}
		seen[g.Metric] = true
	}
	return errors.Join(errs...)
}

// Follow names the pipeline that the Telemetry observes. Its clock times the
// decisions, which are counted but not timed before, and its plan and what it
// holds are shown. It can be called at any time; the last call counts.
func (t *Telemetry) Follow(p *pipeline.Pipeline) { t.followed.Store(p) }

// Decided counts one request, and times its decision.
func (t *Telemetry) Decided(r *pipeline.Request, d pipeline.Decision) {
	h := &t.stripe(r).decisions[r.Class.Index()][outcomeOf(d.Verdict)]
	if p := t.followed.Load(); p != nil {
		h.observe(&decisionLadder, p.Now()-r.Now)
	} else {
		h.count()
	}
	if d.Verdict == pipeline.Reject {
		t.refused(r, d, pipeline.Enforce)
	}
}

// Shadowed counts a refusal that an entry in shadow would have made.
func (t *Telemetry) Shadowed(r *pipeline.Request, d pipeline.Decision) {
	t.refused(r, d, pipeline.Shadow)
}

// Released counts the end of one request, and times it.
func (t *Telemetry) Released(r *pipeline.Request, result pipeline.Result) {
	outcome := min(result.Outcome, pipeline.NotRun)
	t.stripe(r).requests[r.Class.Index()][outcome].observe(&requestLadder, result.At-r.Now)
}

// Fault counts one fault.
func (t *Telemetry) Fault(r *pipeline.Request, entry int, f pipeline.Fault) {
	kind := min(f.Kind, faultKinds-1)
	if r == nil || entry < 0 {
		t.entries.outside[kind].Add(1)
		return
	}
	e := r.Entry(pipeline.Decision{Entry: uint8(entry)})
	t.entries.of(uint8(entry), e.Name, e.Kind).faults[kind].Add(1)
}

func (t *Telemetry) refused(r *pipeline.Request, d pipeline.Decision, mode pipeline.Mode) {
	e := r.Entry(d)
	cell := t.entries.of(d.Entry, e.Name, e.Kind)
	cell.refusals[t.place(r)][mode][r.Class.Index()][min(d.Reason, pipeline.Reasons)].Add(1)
}

// place spreads requests over the stripes by a number that each has at random.
func (t *Telemetry) place(r *pipeline.Request) uint64 {
	return r.ID().Lo & uint64(len(t.stripes)-1)
}

func (t *Telemetry) stripe(r *pipeline.Request) *stripe { return &t.stripes[t.place(r)] }
