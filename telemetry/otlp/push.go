package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/plimsoll-go/plimsoll/telemetry"
)

// Config is what is pushed, beside what the environment says.
type Config struct {
	// Telemetry is whose metrics are pushed. Required.
	Telemetry *telemetry.Telemetry
	// Service is the name of the service where OTEL_SERVICE_NAME and
	// OTEL_RESOURCE_ATTRIBUTES name none. Default plimsoll.
	Service string
	// Version is that of the service. Default none.
	Version string
	// Log hears of failures, at most once in ten seconds for each signal. It
	// must not be one that pushes. Default: nobody does.
	Log *slog.Logger
}

// Push is what is being pushed.
type Push struct {
	settings Settings
	config   Config
	counts   [signals]*counts
	about    *resource.Resource
	spans    *telemetry.Spans
	handler  slog.Handler
	endings  []func(context.Context) error
	once     sync.Once
}

// Start begins to push. It opens no connection before there is something to
// push, and starts one goroutine for each signal. Without a signal it does
// nothing.
func Start(ctx context.Context, s Settings, c Config) (*Push, error) {
	p := &Push{settings: s, config: c}
	if c.Log == nil {
		p.config.Log = slog.New(slog.DiscardHandler)
	}
	if c.Service == "" {
		p.config.Service = "plimsoll"
	}
	for i := range signals {
		p.counts[i] = &counts{signal: i, log: p.config.Log}
	}
	if !s.Any() {
		return p, nil
	}
	if c.Telemetry == nil {
		return nil, errors.New("otlp: a Telemetry is needed")
	}
	if err := p.start(ctx); err != nil {
		_ = p.Shutdown(ctx)
		return nil, err
	}
	return p, nil
}

func (p *Push) start(ctx context.Context) error {
	var err error
	p.about, err = resource.New(ctx,
		resource.WithService(),
		resource.WithAttributes(attribute.String("service.name", p.config.Service), attribute.String("service.version", p.config.Version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessRuntimeVersion(), resource.WithFromEnv())
	if err != nil {
		return fmt.Errorf("otlp: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	for i, start := range [signals]func(context.Context) error{p.startMetrics, p.startTraces, p.startLogs} {
		if !p.settings.on[i] {
			continue
		}
		if err := start(ctx); err != nil {
			return fmt.Errorf("otlp: %s: %w", signal(i), err)
		}
	}
	return nil
}

func (p *Push) startMetrics(ctx context.Context) error {
	exporter, err := newMetricExporter(ctx, p.settings.grpc[metrics])
	if err != nil {
		return err
	}
	produce := p.config.Telemetry.Produce // in explicit buckets
	if p.settings.exponential {
		produce = p.config.Telemetry.Exponential
	}
	reader := sdkmetric.NewPeriodicReader(&counted{exporter, p.counts[metrics]}, sdkmetric.WithProducer(producer(produce)))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(p.about))
	p.endings = append(p.endings, provider.Shutdown)
	_, err = p.config.Telemetry.RegisterOTel(provider.Meter(telemetry.Scope))
	return err
}

func (p *Push) startTraces(ctx context.Context) error {
	exporter, err := newSpanExporter(ctx, p.settings.grpc[traces])
	if err != nil {
		return err
	}
	q := newQueue(p.settings.spans, p.counts[traces], exporter.ExportSpans)
	go q.run()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans{q}), sdktrace.WithResource(p.about))
	p.spans = telemetry.NewSpans(provider)
	p.endings = append(p.endings, both(provider.Shutdown, exporter.Shutdown))
	return nil
}

func (p *Push) startLogs(ctx context.Context) error {
	exporter, err := newLogExporter(ctx, p.settings.grpc[logs])
	if err != nil {
		return err
	}
	q := newQueue(p.settings.records, p.counts[logs], exporter.Export)
	go q.run()
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(records{q}), sdklog.WithResource(p.about))
	p.handler = otelslog.NewHandler(telemetry.Scope, otelslog.WithLoggerProvider(provider))
	p.endings = append(p.endings, both(provider.Shutdown, exporter.Shutdown))
	return nil
}

// Spans ties decisions to traces; nil where traces are not pushed.
func (p *Push) Spans() *telemetry.Spans { return p.spans }

// Handler pushes log records; nil where logs are not pushed. It takes all
// levels.
func (p *Push) Handler() slog.Handler { return p.handler }

// Shutdown pushes what is left, and ends, all signals at once and within the
// time of the context. It acts once.
func (p *Push) Shutdown(ctx context.Context) (err error) {
	p.once.Do(func() {
		done := make(chan error, 1)
		go func() {
			var group sync.WaitGroup
			errs := make([]error, len(p.endings))
			for i, end := range p.endings {
				group.Go(func() { errs[i] = end(ctx) })
			}
			group.Wait()
			done <- errors.Join(errs...)
		}()
		select {
		case err = <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	})
	return err
}

// both does one after the other.
func both(first, second func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return errors.Join(first(ctx), second(ctx)) }
}

// producer is a function as the SDK wants it.
type producer func(context.Context) ([]metricdata.ScopeMetrics, error)

// Produce implements sdkmetric.Producer.
func (p producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) { return p(ctx) }
