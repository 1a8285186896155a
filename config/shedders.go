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
	// The share of what the reserve leaves up to which each class is admitted.
	// A more critical class never has a smaller share.
	ClassCaps ClassCaps `yaml:"class_caps"`
	// How many streams, WebSockets and other long-lived requests that are not
	// critical may be open; 0 means no bound.
	MaxStreams int64 `yaml:"max_streams" default:"0" range:"0..10000000"`
}

// ClassCaps is the share of what the reserve leaves up to which each class is
// admitted. 0 admits nothing of the class.
type ClassCaps struct {
	// The share of high and below.
	High float64 `yaml:"high" default:"1" range:"0..1"`
	// The share of normal and below.
	Normal float64 `yaml:"normal" default:"0.95" range:"0..1"`
	// The share of low.
	Low float64 `yaml:"low" default:"0.9" range:"0..1"`
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
	MaxInFlight int `yaml:"max_in_flight" default:"200" range:"1..16384"`
	// The share of the limit up to which each class is admitted at once;
	// critical has all of it. A more critical class never has a smaller share.
	Shares Shares `yaml:"shares"`
	// How long a request may wait for room, and no longer than a quarter of
	// what is left of its deadline; half of it where somebody of its class or a
	// more critical one has waited for 100ms. 0s refuses at once.
	MaxWait time.Duration `yaml:"max_wait" default:"40ms" range:"0s..10s"`
	// How many requests of each class may wait.
	QueuePerClass int `yaml:"queue_per_class" default:"64" range:"1..100000"`
	// What lowers the limit below max_in_flight: run-queue does while Go's
	// scheduler is late or requests time out, fixed leaves it.
	Adaptive Adaptive `yaml:"adaptive" default:"run-queue"`
	// How whole cohorts of callers are shed while the worker stays overloaded:
	// stripe after 28s of trouble a class in 120s, fast after 3s a class in
	// 10s, off never.
	Ramp Ramp `yaml:"ramp" default:"stripe"`
	// How long the ramp takes to shed one class, at full utilization.
	RampUp time.Duration `yaml:"ramp_up" range:"1s..1h" absent:"what ramp says" example:"1m"`
	// How long it takes to let one in again, at none. Not below ramp_up.
	RampDown time.Duration `yaml:"ramp_down" range:"1s..1h" absent:"what ramp says, and not below ramp_up" example:"2m"`
	// How many streams, WebSockets and other long-lived requests may be open
	// beside.
	MaxStreams int `yaml:"max_streams" range:"1..1000000" absent:"ten times max_in_flight" example:"1000"`
	// Paths that this stage never sheds, on a small reserve of their own. The
	// other stages see them; see exempt at the top level for what none sees.
	Exempt []Pattern `yaml:"exempt" items:"0..100" default:"[]" example:"[/healthz, /readyz]"`
	// How many requests to these paths may be in flight on the reserve; what
	// is above is judged like any other request.
	ExemptMax int `yaml:"exempt_max" default:"10" range:"1..1000"`
}

// Shares is the share of a worker's limit up to which each class is admitted
// at once. 0 admits nothing of the class.
type Shares struct {
	// The share of high and below.
	High float64 `yaml:"high" default:"0.8" range:"0..1"`
	// The share of normal and below.
	Normal float64 `yaml:"normal" default:"0.65" range:"0..1"`
	// The share of low.
	Low float64 `yaml:"low" default:"0.5" range:"0..1"`
}

// Adaptive names what moves a worker's limit.
type Adaptive string

// What moves a worker's limit.
const (
	AdaptiveRunQueue Adaptive = "run-queue" // the delay of Go's scheduler, and time-outs
	AdaptiveFixed    Adaptive = "fixed"     // nothing
)

// Ramp names a preset of the slow layer.
type Ramp string

// The presets.
const (
	RampStripe Ramp = "stripe" // after 28s of trouble a class in 120s, and back as slowly
	RampFast   Ramp = "fast"   // after 3s of trouble a class in 10s, and back in 20s
	RampOff    Ramp = "off"    // nothing is shed by cohort
)
