// Command observability shows the dashboards' figures moving: three workers on
// a Redis and one alone, a receiver of OTLP, a Prometheus with the rules that
// are shipped, and a bad hour in a minute, again and again.
//
//	go run ./examples/observability
//	go run ./examples/observability -for 3m -prometheus 127.0.0.1:9090
//
// It needs redis-server and prometheus, and touches nothing but loopback. Point
// a Grafana at the Prometheus and import deploy/grafana to see the dashboards
// themselves. collector.yaml, beside this file, is what an OpenTelemetry
// collector needs to take the receiver's place: name its address in
// OTEL_EXPORTER_OTLP_ENDPOINT, and this program pushes there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/observe"
	"github.com/plimsoll-go/plimsoll/internal/otlptest"
	"github.com/plimsoll-go/plimsoll/observability"
)

func main() {
	lasts := flag.Duration("for", 0, "how long to run; 0 until it is interrupted")
	story := flag.Duration("story", time.Minute, "how long the bad hour takes")
	address := flag.String("prometheus", "127.0.0.1:0", "address of Prometheus; port 0 is a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *lasts)
		defer cancel()
	}
	if err := run(ctx, os.Stdout, *address, *story); err != nil {
		log.Fatal(err)
	}
}

// run tells the story until the context ends, and writes where to look.
func run(ctx context.Context, out io.Writer, address string, length time.Duration) error {
	received, err := receive(ctx)
	if err != nil {
		return err
	}
	stand, err := observe.Start(ctx)
	if err != nil {
		return err
	}
	defer stand.Close()
	if address, err = free(address); err != nil {
		return err
	}
	prometheus, err := stand.Scrape(ctx, address)
	if err != nil {
		return err
	}
	show(out, stand, prometheus)
	for {
		_, err := stand.Tell(ctx, length, func(act observe.Act) {
			fmt.Fprintf(out, "%s  %-24s %.1f times what the service can do; %d metrics came by OTLP\n", time.Now().Format(time.TimeOnly), act.Name, act.Multiple, received.Metrics())
		})
		switch {
		case ctx.Err() != nil:
			return last(out, prometheus)
		case err != nil:
			return err
		}
	}
}

// receive starts a receiver of OTLP, unless the environment names one, and has
// everything pushed to it.
func receive(ctx context.Context) (*otlptest.Receiver, error) {
	received := new(otlptest.Receiver)
	settings := map[string]string{
		"OTEL_METRIC_EXPORT_INTERVAL": "2000", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.05",
	}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server := &http.Server{Handler: received, ReadHeaderTimeout: time.Second}
		go server.Serve(l)
		context.AfterFunc(ctx, func() { server.Close() })
		settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://" + l.Addr().String()
	}
	for name, value := range settings {
		if os.Getenv(name) == "" {
			if err := os.Setenv(name, value); err != nil {
				return nil, err
			}
		}
	}
	return received, nil
}

// free is an address that Prometheus can have.
func free(address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("-prometheus: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// show says where to look.
func show(out io.Writer, stand *observe.Stand, prometheus *observe.Prometheus) {
	fmt.Fprintf(out, "Prometheus  %s/alerts\n", prometheus.URL)
	for _, expr := range []string{
		`sum by (class, outcome) (rate(plimsoll_requests_total[10s]))`,
		`sum by (reason) (rate(plimsoll_refusals_total{mode="enforce"}[10s]))`,
		`plimsoll_store_state`,
	} {
		fmt.Fprintf(out, "            %s/graph?g0.range_input=5m&g0.tab=0&g0.expr=%s\n", prometheus.URL, url.QueryEscape(expr))
	}
	for i, address := range stand.Admin {
		fmt.Fprintf(out, "worker-%d    http://%s/metrics  /status  /debug/plimsoll/\n", i+1, address)
	}
	for _, d := range observability.Dashboards() {
		fmt.Fprintf(out, "%-11s deploy/grafana/%s\n", d.Name, d.File())
	}
}

// last says what alerts there are at the end.
func last(out io.Writer, prometheus *observe.Prometheus) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	alerts, err := prometheus.Instant(ctx, `sum by (alertname, alertstate) (ALERTS{alertname=~"Plimsoll.*"})`)
	if err != nil {
		return errors.Join(errors.New("at the end Prometheus does not answer"), err)
	}
	for _, a := range alerts {
		fmt.Fprintf(out, "alert       %s %s: docs/alerts.md\n", a.Labels["alertname"], a.Labels["alertstate"])
	}
	return nil
}
