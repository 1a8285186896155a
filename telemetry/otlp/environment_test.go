package otlp

import (
	"strings"
	"testing"
)

func TestWhatTheEnvironmentSwitchesOn(t *testing.T) {
	const all = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		name, want string
		pairs      []string
	}{
		{"nothing", "", nil},
		{"an endpoint for all", "metrics, traces, logs", []string{all, "http://127.0.0.1:1"}},
		{"an endpoint for one", "traces", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1"}},
		{"all but one", "metrics, logs", []string{all, "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "none"}},
		{"one by name", "metrics", []string{"OTEL_METRICS_EXPORTER", "otlp"}},
		{"beside the scrape", "metrics", []string{"OTEL_METRICS_EXPORTER", "prometheus, otlp"}},
		{"the scrape alone", "traces, logs", []string{all, "http://127.0.0.1:1", "OTEL_METRICS_EXPORTER", "prometheus"}},
		{"disabled", "", []string{all, "http://127.0.0.1:1", "OTEL_SDK_DISABLED", "TRUE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if s := environment(t, c.pairs...); s.String() != c.want {
				t.Errorf("pushes %q, want %q", s.String(), c.want)
			}
		})
	}
}

func TestFaultsOfTheEnvironmentAreAllNamed(t *testing.T) {
	_, err := settings(t,
		"OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318", "OTEL_METRICS_EXPORTER", "console", "OTEL_TRACES_EXPORTER", "otlp",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "OTEL_BSP_MAX_QUEUE_SIZE", "0", "OTEL_METRIC_EXPORT_INTERVAL", "1m",
	)
	if err == nil {
		t.Fatal("nothing is wrong with it")
	}
	for _, want := range []string{
		`OTEL_EXPORTER_OTLP_ENDPOINT is "127.0.0.1:4318", allowed: a URL`, `OTEL_METRICS_EXPORTER is "console", allowed: otlp, none`,
		`OTEL_EXPORTER_OTLP_PROTOCOL is "http/json", allowed: grpc, http/protobuf`,
		`OTEL_BSP_MAX_QUEUE_SIZE is "0", allowed: a whole number from 1`, `OTEL_METRIC_EXPORT_INTERVAL is "1m", allowed: a whole number`,
	} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("%s is not told once in:\n%v", want, err)
		}
	}
}

func TestNothingIsPushedByItself(t *testing.T) {
	p, err := Start(t.Context(), Settings{}, Config{})
	if err != nil || p.Spans() != nil || p.Handler() != nil || p.Exports() != nil || p.Dropped() != nil || p.Shutdown(t.Context()) != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := Start(t.Context(), Settings{on: [signals]bool{true}}, Config{}); err == nil {
		t.Error("metrics of nobody are no error")
	}
}
