package telemetry

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// RefusalLogConfig sets a RefusalLog. Logger is required.
type RefusalLogConfig struct {
	// Logger takes the lines, from one goroutine.
	Logger *slog.Logger
	// PerSecond is how many refusals of each class and reason are logged one by
	// one in a second, 1 … 1000; below 0 none. Default 1.
	PerSecond int
	// Summary is how often a line says what was offered, admitted and refused,
	// if anything was refused, 1ms … 1h; below 0 never. Default 10s.
	Summary time.Duration
	// Callers names callers as Caller.Label does. Default: eight digits of a
	// fingerprint, which tell callers apart and say who none of them is.
	Callers bool
}

func (c *RefusalLogConfig) complete() error {
	var errs []error
	if c.Logger == nil {
		errs = append(errs, errors.New("telemetry: a RefusalLog needs a Logger"))
	}
	if c.PerSecond == 0 {
		c.PerSecond = 1
	}
	if c.PerSecond > 1000 {
		errs = append(errs, fmt.Errorf("telemetry: PerSecond must be 1 … 1000, or below 0, got %d", c.PerSecond))
	}
	if c.Summary == 0 {
		c.Summary = 10 * time.Second
	}
	if c.Summary > 0 && (c.Summary < time.Millisecond || c.Summary > time.Hour) {
		errs = append(errs, fmt.Errorf("telemetry: Summary must be 1ms … 1h, or below 0, got %v", c.Summary))
	}
	return errors.Join(errs...)
}

// RefusalLog logs a sample of the refusals, and sums up the rest. The path of
// requests never waits for it: a refusal is left in a queue of 64 places, or
// only counted. It costs a refusal that is not logged a few nanoseconds.
type RefusalLog struct {
	config     RefusalLogConfig
	windows    [priority.Count][pipeline.Reasons + 1]atomic.Uint64 // the second, and the refusals that were logged in it
	queue      chan refusal
	suppressed atomic.Uint64
}

// NewRefusalLog makes a log, which writes while Run runs. Give it to one
// Telemetry. The error names every fault.
func NewRefusalLog(c RefusalLogConfig) (*RefusalLog, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	return &RefusalLog{config: c, queue: make(chan refusal, 64)}, nil
}

// Suppressed is how many refusals were not logged one by one.
func (l *RefusalLog) Suppressed() uint64 { return l.suppressed.Load() }

// refusal is what a line says. It keeps nothing of its request.
type refusal struct {
	class       priority.Class
	reason      pipeline.Reason
	entry, kind string
	rule        string
	caller      store.Key
	name        string // of the caller; empty unless callers are named
	id          store.ID
	retryAfter  time.Duration
	trace       pipeline.Trace
}

// note leaves a refusal to be logged, if there have not been too many like it.
func (l *RefusalLog) note(r *pipeline.Request, d pipeline.Decision) {
	if !l.admits(&l.windows[r.Class.Index()][min(d.Reason, pipeline.Reasons)], r.Now) {
		l.suppressed.Add(1)
		return
	}
	e := r.Entry(d)
	line := refusal{
		class: r.Class, reason: d.Reason, entry: e.Name, kind: e.Kind, rule: r.Detail.Rule, caller: r.Caller.ID,
		id: r.ID(), retryAfter: r.Detail.RetryAfter, trace: r.Trace,
	}
	if l.config.Callers {
		line.name = label(r.Caller.Label())
	}
	select {
	case l.queue <- line:
	default:
		l.suppressed.Add(1)
	}
}

// admits counts one more in its second, up to the bound. A request that comes
// late from the second before counts in this one.
func (l *RefusalLog) admits(window *atomic.Uint64, now int64) bool {
	const bits = 16 // of the count
	second := uint64(max(now, 0)) / uint64(time.Second)
	for {
		word := window.Load()
		next := word + 1
		switch {
		case l.config.PerSecond < 0:
			return false
		case second > word>>bits:
			next = second<<bits | 1
		case word&(1<<bits-1) >= uint64(l.config.PerSecond):
			return false
		}
		if window.CompareAndSwap(word, next) {
			return true
		}
	}
}

// Run writes until the context ends, and then what is left and a last summary.
// Call it once, in a goroutine, with the Telemetry that has the log.
func (l *RefusalLog) Run(ctx context.Context, t *Telemetry) error {
	every := l.config.Summary
	if every < 0 {
		every = time.Hour
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var last tally // what came before Run is in the first summary
	sumUp := func() {
		now := t.tally(l)
		if l.config.Summary > 0 {
			now.since(&last).log(l.config.Logger, every)
		}
		last = now
	}
	for {
		select {
		case line := <-l.queue:
			l.write(&line)
		case <-ticker.C:
			sumUp()
		case <-ctx.Done():
			for len(l.queue) > 0 {
				line := <-l.queue
				l.write(&line)
			}
			sumUp()
			return ctx.Err()
		}
	}
}

func (l *RefusalLog) write(r *refusal) {
	attributes := []slog.Attr{
		slog.String("event", "plimsoll.request.refused"),
		slog.String("class", r.class.String()), slog.String("reason", r.reason.String()),
		slog.String("stage", label(r.kind)), slog.String("entry", label(r.entry)), slog.String("limit", label(r.rule)),
		slog.String("caller", r.shown()), slog.String("decision_id", r.id.String()),
	}
	if r.retryAfter > 0 && r.retryAfter != store.Never {
		attributes = append(attributes, slog.Int64("retry_after_ms", r.retryAfter.Milliseconds()))
	}
	if r.trace != (pipeline.Trace{}) {
		attributes = append(attributes, slog.String("trace_id", hex.EncodeToString(r.trace.ID[:])))
	}
	l.config.Logger.LogAttrs(context.Background(), slog.LevelInfo, "request refused", attributes...)
}

// shown is the caller as far as it may be.
func (r *refusal) shown() string {
	if r.name != "" {
		return r.name
	}
	return "#" + r.caller.String()[:8]
}
