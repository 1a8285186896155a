package config

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// FleetShedStage is the fleet usage load shedder.
type FleetShedStage struct {
	// The share of the fleet's capacity that is kept for critical traffic at
	// all times.
	Reserve float64 `yaml:"reserve" default:"0.2" range:"0..0.9"`
	// How many requests the fleet may have in flight, 1.25 to 2 times what
	// saturates it; auto adds up what its workers say of themselves.
	Capacity Capacity `yaml:"capacity" default:"auto"`
	// The share of the capacity that each class and those below it may use,
	// below what the reserve leaves them.
	ClassCaps ClassCaps `yaml:"class_caps" absent:"no class has a cap of its own"`
}

// ClassCaps is the share of the capacity that each class and those below it
// may use. 0 stands for a cap that is not set.
type ClassCaps struct {
	// The share of high and below.
	High float64 `yaml:"high" range:"0.01..1" absent:"no cap" example:"0.7"`
	// The share of normal and below.
	Normal float64 `yaml:"normal" range:"0.01..1" absent:"no cap" example:"0.6"`
	// The share of low.
	Low float64 `yaml:"low" range:"0.01..1" absent:"no cap" example:"0.3"`
}

// Capacity is how many requests the fleet may have in flight; 0 is auto, the
// sum of what its workers say of themselves.
type Capacity float64

const capacityForms = "auto, or a number from 1 to 100000000"

func (c *Capacity) decode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && n.Value == "auto" {
		*c = 0
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.fault(n, path, allowed("must be one value, got "+kindOf(n), capacityForms))
		return
	}
	if err := setDecimal(reflect.ValueOf(c).Elem(), n); err != nil {
		d.fault(n, path, allowed(err.Error()+didYouMean(n.Value, []string{"auto"}), capacityForms))
		return
	}
	if *c < 1 || *c > 100_000_000 {
		d.fault(n, path, allowed(fmt.Sprintf("%s is out of range", n.Value), capacityForms))
	}
}

// String is the form of the file.
func (c Capacity) String() string {
	if c == 0 {
		return "auto"
	}
	return strconv.FormatFloat(float64(c), 'f', -1, 64)
}

// WorkerShedStage is the worker utilization load shedder.
type WorkerShedStage struct {
	// How many requests this worker may have in flight, 1.25 to 2 times what
	// saturates it.
	MaxInFlight int64 `yaml:"max_in_flight" default:"200" range:"1..1000000"`
	// The share of max_in_flight that each class and those below it may use.
	Shares Shares `yaml:"shares"`
	// How long a request may wait for room, and no longer than a quarter of
	// what is left of its deadline; 0s refuses at once.
	MaxWait time.Duration `yaml:"max_wait" default:"20ms" range:"0s..1s"`
	// How many requests of each class may wait.
	QueuePerClass int64 `yaml:"queue_per_class" range:"1..1000000" absent:"as many as max_in_flight" example:"200"`
	// What moves the limit below max_in_flight: run-queue lowers it while Go's
	// scheduler is late, fixed leaves it.
	Adaptive Adaptive `yaml:"adaptive" default:"run-queue"`
	// How whole cohorts of callers are shed while the worker stays overloaded:
	// stripe in minutes, fast in seconds, off never.
	Ramp Ramp `yaml:"ramp" default:"stripe"`
	// How many streams, WebSockets and other long-lived requests may be open
	// beside.
	MaxStreams int64 `yaml:"max_streams" range:"1..10000000" absent:"five times max_in_flight" example:"1000"`
	// Paths that are never shed, such as those of probes. They have a small
	// reserve of their own.
	Exempt []Pattern `yaml:"exempt" items:"0..100" default:"[]" example:"[/healthz, /readyz]"`
}

// Shares is the share of a worker's limit that each class and those below it
// may use. A more critical class never has a smaller share.
type Shares struct {
	// The share of everything together.
	Critical float64 `yaml:"critical" default:"1" range:"0.01..1"`
	// The share of high and below.
	High float64 `yaml:"high" default:"0.8" range:"0.01..1"`
	// The share of normal and below.
	Normal float64 `yaml:"normal" default:"0.6" range:"0.01..1"`
	// The share of low.
	Low float64 `yaml:"low" default:"0.4" range:"0.01..1"`
}

// Adaptive names what moves a worker's limit.
type Adaptive string

// What moves a worker's limit.
const (
	AdaptiveRunQueue Adaptive = "run-queue" // the delay of Go's scheduler
	AdaptiveFixed    Adaptive = "fixed"     // nothing
)

// Ramp names a preset of the slow layer.
type Ramp string

// The presets.
const (
	RampStripe Ramp = "stripe" // up in 120s, after 28s of overload
	RampFast   Ramp = "fast"   // for services that cannot wait minutes
	RampOff    Ramp = "off"
)
