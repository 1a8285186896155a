package operator

import (
	"encoding/json"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Worker is what is shown of the worker's own stage.
type Worker struct {
	Limit       int                 `json:"limit"`
	MaxInFlight int                 `json:"max_in_flight"`
	InFlight    [priority.Count]int `json:"in_flight"`
	Queued      [priority.Count]int `json:"queued"`
	Level       float64             `json:"level"`
	Pinned      bool                `json:"pinned"`
	GoneIn      time.Duration       `json:"gone_in_ns"`
	Utilization float64             `json:"utilization"`
	Demand      float64             `json:"demand"`
}

// Pace says of the level whether it is held, and when it is gone at the soonest
// that is known; "" when there is nothing to say.
func (w *Worker) Pace() string {
	switch {
	case w.Pinned:
		return ", pinned"
	case w.GoneIn > 0:
		return ", gone in " + w.GoneIn.Round(time.Second).String() + " if use stays"
	}
	return ""
}

// WorkerOf reads the detail of the worker's own stage, or is nil if the plan
// has none.
func WorkerOf(s *admin.Status) *Worker {
	for _, stage := range s.Stages {
		if stage.Kind != "workershed" {
			continue
		}
		text, err := json.Marshal(stage.Detail)
		w := &Worker{}
		if err == nil && json.Unmarshal(text, w) == nil {
			return w
		}
	}
	return nil
}
