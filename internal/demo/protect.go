package demo

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/internal/process"
)

//go:embed demo.yaml
var protection []byte

// probe is how long the processors are measured before.
const probe = 300 * time.Millisecond

// Run shows the demonstration. An error means that it did not come to an end;
// whether what was claimed held is the verdict's to say.
func Run(ctx context.Context, c Config) (*Verdict, error) {
	c, err := c.prepared()
	if err != nil {
		return nil, err
	}
	c.pace = paceFor(freeProcessors(probe), c.Multiple)
	return perform(ctx, c, protect)
}

// protect puts a whole process in front of a service: what plimsoll run would
// start for demo.yaml.
func protect(upstream string, p pace) (url string, end func(), err error) {
	process, err := process.New(process.Config{
		Text: protection, Log: io.Discard, Overlays: []config.Overlay{inFrontOf(upstream, p)},
	})
	if err != nil {
		return "", nil, fmt.Errorf("demo: %w", err)
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", nil, fmt.Errorf("demo: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- process.Serve(ctx, listeners[0], listeners[1]) }()
	return "http://" + listeners[0].Addr().String(), func() { cancel(); <-ended }, nil
}

// inFrontOf names the service, and stretches times and rates by a pace.
func inFrontOf(upstream string, p pace) config.Overlay {
	return func(f *config.File) config.Errors {
		f.Upstream, f.Server.Grace = config.URL(upstream), 0
		for i := range f.Stages {
			switch s := &f.Stages[i]; {
			case s.RateLimit != nil:
				for j := range s.RateLimit.Limits {
					l := &s.RateLimit.Limits[j]
					l.Rate.Period *= time.Duration(p)
					l.Burst = max(l.Burst/int64(p), 1)
				}
			case s.WorkerShed != nil:
				s.WorkerShed.MaxWait *= time.Duration(p)
			}
		}
		return nil
	}
}
