package config

import (
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Kind names a kind of stage.
type Kind string

// The kinds of stages, in their usual order.
const (
	RateLimit   Kind = "ratelimit"   // has this caller sent too much?
	Concurrency Kind = "concurrency" // has this caller too much in flight?
	FleetShed   Kind = "fleetshed"   // has the fleet room for this class?
	WorkerShed  Kind = "workershed"  // has this worker room for this class?
)

// Stage is one stage in its place.
type Stage struct {
	// The kind of stage.
	Kind Kind `yaml:"stage" required:"true"`
	// The stage's name in metrics and in the admin API. Live state belongs to
	// the name: a renamed stage starts anew.
	Name Name `yaml:"name" absent:"the kind of stage" example:"ratelimit-trial"`
	// What becomes of refusals: enforce refuses, shadow counts them and lets
	// the request go on, off does not ask the stage.
	Mode pipeline.Mode `yaml:"mode" default:"enforce"`
	// What the stage answers when it cannot decide: local asks the store in
	// this process at this worker's share of each limit, open admits, closed
	// refuses.
	OnFault pipeline.FaultPolicy `yaml:"on_fault" default:"local"`
	// The HTTP status of refusals by stages of this kind, 429 or 503: clients
	// heed Retry-After for no other.
	Status int `yaml:"status" range:"429..503" absent:"429 for ratelimit and concurrency, 503 for fleetshed and workershed" example:"503"`

	// The part of its kind is there, the other three are nil.

	RateLimit   *RateLimitStage   `variant:"ratelimit"`   // how fast each caller may send
	Concurrency *ConcurrencyStage `variant:"concurrency"` // how much each caller may have in flight
	FleetShed   *FleetShedStage   `variant:"fleetshed"`   // what the fleet keeps for critical traffic
	WorkerShed  *WorkerShedStage  `variant:"workershed"`  // what this worker can take
}

// Label is the stage's name, or its kind if it has none.
func (s *Stage) Label() string {
	if s.Name != "" {
		return string(s.Name)
	}
	return string(s.Kind)
}
