package overload

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Call is a request, as far as a shedder may know it.
type Call struct {
	Class  priority.Class
	Caller int       // which of the callers
	Pick   uint64    // uniform: what the service draws from, the same for every contestant
	Due    time.Time // when its caller stops waiting
}

// Work is what the service does for a call. Its error is the caller's patience
// that ended first.
type Work func(context.Context) error

// Shedder stands before a service.
type Shedder interface {
	// Serve runs the work and says true, or refuses it. The context ends when
	// the caller leaves. It is called concurrently.
	Serve(ctx context.Context, c Call, work Work) (admitted bool)
	// Close ends what the shedder has started.
	Close()
}

// Streamer is a Shedder that tells long-lived calls, which mostly wait, from
// others.
type Streamer interface {
	// ServeStream is Serve for a call of which it turns out, once it is
	// admitted, that it is a stream.
	ServeStream(ctx context.Context, c Call, work Work) (admitted bool)
}

// Setting is one way to set a contestant.
type Setting struct {
	Name string
	Make func(s *Service) (Shedder, error)
}

// Contestant is a library. The first of its settings is how it comes, as far
// as it has defaults; the others are what somebody would try who knows the
// service.
type Contestant struct {
	Name     string
	Settings []Setting
}

// Contestants are all that are compared.
func Contestants() []Contestant {
	return []Contestant{
		plimsoll(), nothing(), fixedCap(), failsafePlain(), failsafePrioritized(),
		aegis(), goZero(), sentinel(), gradient2(), plimsollOnRedis(),
	}
}

// Find is a contestant with one of its settings.
func Find(contestant, setting string) (Setting, bool) {
	for _, c := range Contestants() {
		for _, s := range c.Settings {
			if c.Name == contestant && s.Name == setting {
				return s, true
			}
		}
	}
	return Setting{}, false
}
