package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// RegisterOTel makes the counters and gauges of a meter that read the cells
// when they are collected. Histograms cannot be observed so: give the reader
// the Telemetry as its producer, too. Unregister ends it.
func (t *Telemetry) RegisterOTel(meter metric.Meter) (metric.Registration, error) {
	if meter == nil {
		return nil, errors.New("telemetry: a meter is needed")
	}
	var instruments []instrument
	var observables []metric.Observable
	for i := range definitions {
		d := &definitions[i]
		if d.Type == HistogramType {
			continue
		}
		made, err := newInstrument(meter, d)
		if err != nil {
			return nil, fmt.Errorf("telemetry: instrument %s: %w", d.Name, err)
		}
		instruments = append(instruments, made)
		observables = append(observables, made.observable())
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		for i := range instruments {
			t.observe(&instruments[i], to)
		}
		return nil
	}, observables...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: callback: %w", err)
	}
	return registration, nil
}

// instrument is a definition made for a meter: one of the two is there.
type instrument struct {
	*Definition
	counter metric.Int64ObservableCounter
	gauge   metric.Float64ObservableGauge
}

func newInstrument(meter metric.Meter, d *Definition) (instrument, error) {
	made := instrument{Definition: d}
	var err error
	help, unit := metric.WithDescription(d.Help), metric.WithUnit(d.Unit)
	if d.Type == CounterType {
		made.counter, err = meter.Int64ObservableCounter(string(d.Name), help, unit)
	} else {
		made.gauge, err = meter.Float64ObservableGauge(string(d.Name), help, unit)
	}
	return made, err
}

func (i *instrument) observable() metric.Observable {
	if i.counter != nil {
		return i.counter
	}
	return i.gauge
}

func (t *Telemetry) observe(i *instrument, to metric.Observer) {
	for _, p := range t.points(i.Definition) {
		with := metric.WithAttributeSet(t.attributes(i.Definition, p.Labels))
		if i.counter != nil {
			to.ObserveInt64(i.counter, int64(p.Value), with)
		} else {
			to.ObserveFloat64(i.gauge, p.Value, with)
		}
	}
}

// attributes is the labels of a point, under the names that Prometheus has.
func (t *Telemetry) attributes(d *Definition, values []string) attribute.Set {
	list := make([]attribute.KeyValue, 0, len(values)+1)
	for i, value := range values {
		list = append(list, attribute.String(d.Labels[i], value))
	}
	if t.config.Pipeline != "" {
		list = append(list, attribute.String(pipelineLabel, t.config.Pipeline))
	}
	return attribute.NewSet(list...)
}
