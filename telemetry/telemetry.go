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
	// Sources know the figures that are given. Each Metric at most once.
	// Default: none, and no series of theirs.
	Sources []Source
	// Refusals logs refusals. Default: nobody does.
	Refusals *RefusalLog
}

// Telemetry counts what one pipeline does.
type Telemetry struct {
	config   Config
	started  time.Time
	followed atomic.Pointer[pipeline.Pipeline]
	stripes  []stripe // a power of two of them
	waits    waits
	examples examples
	entries  entries
	grown    grown
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
	for i, s := range c.Sources {
		if err := s.check(seen[s.Metric]); err != nil {
			errs = append(errs, fmt.Errorf("telemetry: Sources[%d]: %w", i, err))
		}
		seen[s.Metric] = true
	}
	return errors.Join(errs...)
}

// Follow names the pipeline that the Telemetry observes. Its clock times the
// decisions, which are counted but not timed before, and its plan and what it
// holds are shown. It can be called at any time; the last call counts.
func (t *Telemetry) Follow(p *pipeline.Pipeline) { t.followed.Store(p) }

// Decided counts one request, and times its decision and what that waited for.
func (t *Telemetry) Decided(r *pipeline.Request, d pipeline.Decision) {
	class, outcome := r.Class.Index(), outcomeOf(d.Verdict)
	h := &t.stripe(r).decisions[class][outcome]
	if p := t.followed.Load(); p != nil {
		took := p.Now() - r.Now
		h.observe(&decisionLadder, took)
		if r.Trace != (pipeline.Trace{}) {
			t.examples.decisions[class][outcome].keep(&decisionLadder, r, took, r.Now+took)
		}
	} else {
		h.count()
	}
	if r.Waits != (pipeline.Waits{}) {
		t.waited(r, outcome)
	}
	if d.Verdict == pipeline.Reject {
		t.refused(r, d, pipeline.Enforce)
		if t.config.Refusals != nil {
			t.config.Refusals.note(r, d)
		}
	}
}

// waited counts what few requests wait for.
func (t *Telemetry) waited(r *pipeline.Request, o outcome) {
	class, got := r.Class.Index(), answered
	if r.Waits.Unanswered {
		got = unanswered
	}
	if r.Waits.Store > 0 {
		t.waits.store[class][got].observe(&decisionLadder, r.Waits.Store)
	}
	if r.Waits.Delay > 0 {
		t.waits.delay[class][o].observe(&decisionLadder, r.Waits.Delay)
	}
	if r.Waits.Queue > 0 {
		t.waits.queue[class][o].observe(&decisionLadder, r.Waits.Queue)
	}
	if r.Trace == (pipeline.Trace{}) {
		return
	}
	at := r.Now + r.Waits.Store + r.Waits.Delay + r.Waits.Queue
	if r.Waits.Store > 0 {
		t.examples.store[class][got].keep(&decisionLadder, r, r.Waits.Store, at)
	}
	if r.Waits.Delay > 0 {
		t.examples.delay[class][o].keep(&decisionLadder, r, r.Waits.Delay, at)
	}
	if r.Waits.Queue > 0 {
		t.examples.queue[class][o].keep(&decisionLadder, r, r.Waits.Queue, at)
	}
}

// Shadowed counts a refusal that an entry in shadow would have made.
func (t *Telemetry) Shadowed(r *pipeline.Request, d pipeline.Decision) {
	t.refused(r, d, pipeline.Shadow)
}

// Released counts the end of one request, and times it.
func (t *Telemetry) Released(r *pipeline.Request, result pipeline.Result) {
	class, outcome := r.Class.Index(), min(result.Outcome, pipeline.NotRun)
	t.stripe(r).requests[class][outcome].observe(&requestLadder, result.At-r.Now)
	if r.Trace != (pipeline.Trace{}) {
		t.examples.requests[class][outcome].keep(&requestLadder, r, result.At-r.Now, result.At)
	}
}

// Fault counts one fault, and the policy that answered in the entry's place.
func (t *Telemetry) Fault(r *pipeline.Request, entry int, f pipeline.Fault) {
	kind := min(f.Kind, faultKinds-1)
	if r == nil || entry < 0 {
		t.entries.outside[kind].Add(1)
		return
	}
	e := r.Entry(pipeline.Decision{Entry: uint8(entry)})
	counts := t.entries.of(uint8(entry), e.Name, e.Kind)
	counts.faults[kind].Add(1)
	if kind != pipeline.SwitchedOff {
		counts.fallbacks[min(e.OnFault, pipeline.Closed)].Add(1)
	}
}

func (t *Telemetry) refused(r *pipeline.Request, d pipeline.Decision, mode pipeline.Mode) {
	e := r.Entry(d)
	cell := t.entries.of(d.Entry, e.Name, e.Kind)
	cell.refusals[t.place(r)][mode][r.Class.Index()][min(d.Reason, pipeline.Reasons)].Add(1)
}

// place spreads requests over the stripes by the nanosecond of their arrival,
// which is as good as a number drawn at random, and is there.
func (t *Telemetry) place(r *pipeline.Request) uint64 {
	const golden = 0x9e3779b97f4a7c15
	return uint64(r.Now) * golden >> 32 & uint64(len(t.stripes)-1)
}

func (t *Telemetry) stripe(r *pipeline.Request) *stripe { return &t.stripes[t.place(r)] }
