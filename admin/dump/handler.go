package dump

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// Prefix is the path of the list of dumps; each is below it by its name.
const Prefix = "/debug/plimsoll/"

// Config says what is told. Pipeline and Telemetry are required.
type Config struct {
	// Pipeline is whose plan and requests in flight are told.
	Pipeline *pipeline.Pipeline
	// Telemetry is whose figures are told. It follows the pipeline.
	Telemetry *telemetry.Telemetry
	// Limits lists what is configured now. Nil: nothing is told of limits.
	Limits func() []Limit
}

// Limit is one limit of one entry, in words.
type Limit struct {
	Entry  string // of the plan
	Name   string // of the limit
	Key    string // whose requests count together
	Amount string // 100/s, 8 in flight
}

// dump is one page.
type dump struct {
	name, about string
	write       func(*Config, io.Writer)
}

var dumps = []dump{
	{"entries", "the plan, what each entry refused, and its faults", entries},
	{"classes", "what became of the requests of each class, and how long it took", classes},
	{"queues", "room, queue and levels of the worker shed, by class", queues},
	{"holders", "requests in flight, oldest first", holders},
	{"limits", "the limits that are configured", limits},
	{"fleet", "the fleet as this worker sees it, and its lease", fleet},
	{"store", "the store: state, keys, failures, what waits for it", stored},
}

// New makes a handler for the paths below Prefix.
func New(c Config) (http.Handler, error) {
	if c.Pipeline == nil || c.Telemetry == nil {
		return nil, errors.New("dump: Pipeline and Telemetry are required")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "a dump is only read", http.StatusMethodNotAllowed)
			return
		}
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(Prefix, "/")), "/")
		for i := range dumps {
			if d := &dumps[i]; d.name == name {
				begin(w, d.about)
				d.write(&c, w)
				return
			}
		}
		if name != "" {
			http.Error(w, "no such dump: see "+Prefix, http.StatusNotFound)
			return
		}
		begin(w, "dumps")
		list(w)
	}), nil
}

// begin says what it is, and of when.
func begin(w http.ResponseWriter, about string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprintf(w, "# %s, at %s\n", about, time.Now().UTC().Format(time.RFC3339))
}

func list(w io.Writer) {
	t := table{head: []string{"PATH", "WHAT"}}
	for i := range dumps {
		t.add(Prefix+dumps[i].name, dumps[i].about)
	}
	t.prose = true
	t.write(w)
}
