package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
)

// redraw is how often the table is drawn.
const redraw = 200 * time.Millisecond

// front puts the stages in front of a service, and answers under which URL
// they are reached and what ends them.
type front func(upstream string, p pace) (url string, end func(), err error)

func perform(ctx context.Context, c Config, protect front) (v *Verdict, err error) {
	d := c.display()
	s := &show{config: c}
	var lines []string
	defer func() { d.end(s, lines) }() // whatever happened, the terminal is left as it was
	if err := s.act(ctx, d, "with Plimsoll", c.Duration, protect); err != nil {
		return nil, err
	}
	if !c.Alone {
		if err := s.act(ctx, d, "without", c.compared(), bare); err != nil {
			return nil, err
		}
	}
	v = judge(s.acts[0])
	lines = s.summary(v)
	return v, nil
}

// act runs the load once on a service of its own.
func (s *show) act(ctx context.Context, d display, name string, length time.Duration, protect front) error {
	b, err := newBackend(s.config.pace)
	if err != nil {
		return err
	}
	defer b.close()
	url, end, err := protect(b.url, s.config.pace)
	if err != nil {
		return err
	}
	defer end()
	t, err := newTraffic(url)
	if err != nil {
		return err
	}
	client := load.NewClient(t.request)
	defer client.Close()
	a, err := newAct(name, s.config.plan(b.Capacity(), length), client.Do)
	if err != nil {
		return err
	}
	s.service, s.acts = b.Service, append(s.acts, a)
	if err := a.run(ctx, redraw, func() { d.frame(s) }); err != nil {
		return interrupted(err)
	}
	return nil
}

// bare puts nothing in front of a service.
func bare(upstream string, _ pace) (string, func(), error) { return upstream, func() {}, nil }

// ErrInterrupted says that somebody broke the demonstration off.
var ErrInterrupted = errors.New("demo: broken off")

func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return ErrInterrupted
	}
	return fmt.Errorf("demo: %w", err)
}

// display is a drawn table on a terminal, and lines anywhere else.
func (c *Config) display() display {
	if _, _, ok := c.Size(); ok && !c.Plain {
		return &live{out: c.Out, size: c.Size}
	}
	c.Colour = Monochrome
	return &plain{out: c.Out}
}
