package otlp

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// signal is a kind of telemetry. Its values are the indices of tables.
type signal int

const (
	metrics signal = iota
	traces
	logs
	signals
)

// String is the signal's word, as variables have it.
func (s signal) String() string { return [signals]string{"metrics", "traces", "logs"}[s] }

// Settings is what the environment says. The zero value pushes nothing.
type Settings struct {
	grpc        [signals]bool // the protocol of a signal that is pushed; else HTTP
	on          [signals]bool
	spans       batching
	records     batching
	exponential bool // histograms in exponential buckets
}

// batching bounds what waits to be pushed.
type batching struct {
	queue   int           // items that wait at most
	batch   int           // items in one call at most
	delay   time.Duration // that an item waits for others at most
	timeout time.Duration // of one call
}

// Any reports whether anything is pushed.
func (s *Settings) Any() bool { return slices.Contains(s.on[:], true) }

// String says what is pushed, for a person.
func (s *Settings) String() string {
	var words []string
	for i := range signals {
		if s.on[i] {
			words = append(words, i.String())
		}
	}
	return strings.Join(words, ", ")
}

// FromEnvironment reads the standard variables: OTEL_SDK_DISABLED,
// OTEL_{METRICS,TRACES,LOGS}_EXPORTER (otlp or none; metrics also prometheus,
// which is there in any case), OTEL_EXPORTER_OTLP_[signal_]ENDPOINT and
// PROTOCOL (grpc or http/protobuf, the default), OTEL_BSP_… and OTEL_BLRP_….
// The exporters read the others themselves: headers, certificates, timeouts,
// compression. The error names every fault.
func FromEnvironment() (Settings, error) {
	var s Settings
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return s, nil
	}
	var r reader
	for i := range signals {
		s.on[i] = r.wanted(i)
		s.grpc[i] = r.protocol(i) == "grpc"
	}
	s.spans = r.batching("OTEL_BSP_", 5*time.Second)
	s.records = r.batching("OTEL_BLRP_", time.Second)
	const aggregation = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
	s.exponential = r.word(aggregation, "explicit_bucket_histogram", "base2_exponential_bucket_histogram") == "base2_exponential_bucket_histogram"
	r.milliseconds("OTEL_METRIC_EXPORT_INTERVAL", time.Minute)
	r.milliseconds("OTEL_METRIC_EXPORT_TIMEOUT", time.Minute)
	return s, errors.Join(r.faults...)
}

// reader reads variables and collects their faults.
type reader struct{ faults []error }

func (r *reader) fault(name, value, allowed string) {
	err := fmt.Errorf("otlp: %s is %.80q, allowed: %s", name, value, allowed)
	if !slices.ContainsFunc(r.faults, func(known error) bool { return known.Error() == err.Error() }) { // read for each signal
		r.faults = append(r.faults, err)
	}
}

// wanted reports whether a signal is pushed.
func (r *reader) wanted(s signal) bool {
	upper := strings.ToUpper(s.String())
	endpoint := r.endpoint("OTEL_EXPORTER_OTLP_"+upper+"_ENDPOINT") || r.endpoint("OTEL_EXPORTER_OTLP_ENDPOINT")
	name := "OTEL_" + upper + "_EXPORTER"
	value := os.Getenv(name)
	if value == "" {
		return endpoint
	}
	wanted := false
	for word := range strings.SplitSeq(value, ",") {
		switch word = strings.TrimSpace(word); {
		case word == "otlp":
			wanted = true
		case word == "none", word == "prometheus" && s == metrics:
		default:
			r.fault(name, value, "otlp, none, and for metrics prometheus")
		}
	}
	return wanted
}

// endpoint reports whether a variable names one.
func (r *reader) endpoint(name string) bool {
	value := os.Getenv(name)
	if value == "" {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.fault(name, value, "a URL such as http://127.0.0.1:4318")
	}
	return true
}

// protocol is how a signal is pushed.
func (r *reader) protocol(s signal) string {
	const all = "OTEL_EXPORTER_OTLP_PROTOCOL"
	own := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(s.String()) + "_PROTOCOL"
	if os.Getenv(own) != "" {
		return r.word(own, "grpc", "http/protobuf")
	}
	return r.word(all, "grpc", "http/protobuf")
}

// word is a value of a closed set, or "".
func (r *reader) word(name string, allowed ...string) string {
	value := os.Getenv(name)
	if value != "" && !slices.Contains(allowed, value) {
		r.fault(name, value, strings.Join(allowed, ", "))
	}
	return value
}

func (r *reader) batching(prefix string, delay time.Duration) batching {
	b := batching{
		queue: r.number(prefix+"MAX_QUEUE_SIZE", 2048), batch: r.number(prefix+"MAX_EXPORT_BATCH_SIZE", 512),
		delay: r.milliseconds(prefix+"SCHEDULE_DELAY", delay), timeout: r.milliseconds(prefix+"EXPORT_TIMEOUT", 30*time.Second),
	}
	b.batch = min(b.batch, b.queue)
	return b
}

// most bounds numbers and milliseconds: a queue of a million, half an hour.
const most = 1 << 20

func (r *reader) number(name string, byDefault int) int {
	value := os.Getenv(name)
	if value == "" {
		return byDefault
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		r.fault(name, value, fmt.Sprintf("a whole number from 1 to %d", most))
		return byDefault
	}
	return n
}

func (r *reader) milliseconds(name string, byDefault time.Duration) time.Duration {
	return time.Duration(r.number(name, int(byDefault.Milliseconds()))) * time.Millisecond
}
