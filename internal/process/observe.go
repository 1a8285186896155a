package process

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/telemetry"
	"github.com/plimsoll-go/plimsoll/telemetry/otlp"
)

// observing is what the process tells of itself beside the scrape.
type observing struct {
	settings otlp.Settings
	plain    *slog.Logger // writes, and pushes nothing
	refusals *telemetry.RefusalLog

	push    atomic.Pointer[otlp.Push]    // nil before Serve
	records atomic.Pointer[slog.Handler] // pushes what is logged; nil: nobody does
	traced  atomic.Pointer[traced]       // nil: no spans are made
	notes   telemetry.Spans              // on spans that others made
}

// traced is the proxy within a span.
type traced struct {
	spans   *telemetry.Spans
	handler http.Handler
}

// beginObserving reads the environment, and makes the loggers.
func (p *Process) beginObserving(w io.Writer, f *config.File) (err error) {
	o := &p.observing
	if o.settings, err = otlp.FromEnvironment(); err != nil {
		return err
	}
	o.plain = newLogger(w, f.Log.Format, &p.level)
	p.log = slog.New(slog.NewMultiHandler(o.plain.Handler(), &relay{to: &o.records, level: &p.level}))
	c := telemetry.RefusalLogConfig{Logger: p.log, PerSecond: f.Log.Refusals, Summary: f.Log.Summary, Callers: f.Log.Callers}
	if c.PerSecond == 0 {
		c.PerSecond = -1
	}
	if c.Summary == 0 {
		c.Summary = -1
	}
	o.refusals, err = telemetry.NewRefusalLog(c)
	return err
}

// startPush begins to push what the environment wants pushed.
func (p *Process) startPush(ctx context.Context) error {
	o := &p.observing
	push, err := otlp.Start(ctx, o.settings, otlp.Config{Telemetry: p.telemetry, Version: p.config.Version, Log: o.plain})
	if err != nil {
		return fmt.Errorf("process: %w", err)
	}
	o.push.Store(push)
	if handler := push.Handler(); handler != nil {
		o.records.Store(&handler)
	}
	if spans := push.Spans(); spans != nil {
		o.traced.Store(&traced{spans, spans.Wrap(p.proxy)})
	}
	return nil
}

// endPush pushes what is left. A receiver that does not answer delays the end
// of the process by two seconds, and no more.
func (p *Process) endPush() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if push := p.observing.push.Load(); push != nil {
		if err := push.Shutdown(ctx); err != nil {
			p.observing.plain.Warn("not everything was pushed", "error", err)
		}
	}
}

// forward passes an admitted request on, in a span where traces are pushed.
func (p *Process) forward(w http.ResponseWriter, r *http.Request) {
	if t := p.observing.traced.Load(); t != nil {
		t.handler.ServeHTTP(w, r)
		return
	}
	p.proxy.ServeHTTP(w, r)
}

// rewrite lets class, deadline and trace travel on.
func (p *Process) rewrite(out, in *http.Request) {
	httpmw.Forward(in.Context(), out.Header)
	if t := p.observing.traced.Load(); t != nil {
		t.spans.Inject(in.Context(), out.Header)
	}
}

// noting is how requests are described and answered, with decisions noted on
// the spans that there are.
func (p *Process) noting(c httpmw.Config) httpmw.Config {
	c.Tracer = &p.observing.notes
	return c
}

// pushSources is what became of what was pushed.
func (p *Process) pushSources() []telemetry.Source {
	of := func(m telemetry.Metric, read func(*otlp.Push) []telemetry.Point) telemetry.Source {
		return telemetry.Source{Metric: m, Read: func() []telemetry.Point {
			if push := p.observing.push.Load(); push != nil {
				return read(push)
			}
			return nil
		}}
	}
	return []telemetry.Source{of(telemetry.OTLPExports, (*otlp.Push).Exports), of(telemetry.OTLPDropped, (*otlp.Push).Dropped)}
}

// relay is a handler that passes records on once there is somebody to take
// them.
type relay struct {
	to    *atomic.Pointer[slog.Handler]
	level slog.Leveler
	with  func(slog.Handler) slog.Handler // attributes and groups, in their order; nil without
}

// Enabled reports whether anybody takes a record of the level.
func (r *relay) Enabled(_ context.Context, level slog.Level) bool {
	return r.to.Load() != nil && level >= r.level.Level()
}

// Handle passes a record on.
func (r *relay) Handle(ctx context.Context, record slog.Record) error {
	handler := *r.to.Load()
	if r.with != nil {
		handler = r.with(handler)
	}
	return handler.Handle(ctx, record)
}

// WithAttrs is the relay with attributes.
func (r *relay) WithAttrs(attributes []slog.Attr) slog.Handler {
	return r.then(func(h slog.Handler) slog.Handler { return h.WithAttrs(attributes) })
}

// WithGroup is the relay with a group.
func (r *relay) WithGroup(name string) slog.Handler {
	return r.then(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (r *relay) then(next func(slog.Handler) slog.Handler) slog.Handler {
	first := r.with
	if first == nil {
		return &relay{r.to, r.level, next}
	}
	return &relay{r.to, r.level, func(h slog.Handler) slog.Handler { return next(first(h)) }}
}
