package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// fleetShow is the demonstration of a fleet while it runs.
type fleetShow struct {
	config   FleetConfig
	fleet    *crew
	server   *redistest.Server
	admitted int // of those asked under the shared limit
	spells   []*spell
}

func (f *crew) allDown() bool {
	return f.all(func(s *admin.Status) bool { return s.Store.State == "down" })
}

func (s *fleetShow) perform(ctx context.Context) (*Verdict, error) {
	if !wait(ctx, func() bool {
		return s.fleet.all(func(st *admin.Status) bool { return st.Fleet.Live == fleetSize && st.Store.State == "ok" })
	}) {
		return nil, fmt.Errorf("the workers did not find each other within ten seconds: %w", context.DeadlineExceeded)
	}
	s.heading()
	if err := s.share(ctx); err != nil {
		return nil, err
	}
	for _, scene := range scenes {
		if err := s.play(ctx, scene); err != nil {
			return nil, err
		}
	}
	v := s.judge()
	s.verdict(v)
	return v, nil
}

// share asks all workers in turn, under one limit.
func (s *fleetShow) share(ctx context.Context) error {
	for n := range asked {
		switch status := s.fleet.ask(ctx, n, "/hundred"); status {
		case http.StatusNoContent:
			s.admitted++
		case http.StatusTooManyRequests:
		default:
			return fmt.Errorf("a worker answered %d, %w", status, ctx.Err())
		}
	}
	s.line(fmt.Sprintf("One limit of %d for %d workers, %d requests to them in turn: %d admitted.", sharedLimit, fleetSize, asked, s.admitted))
	s.line("")
	s.line(s.config.Colour.ink(bold, columnHeads))
	return nil
}

// play runs one phase.
func (s *fleetShow) play(ctx context.Context, scene scene) error {
	p := &spell{scene: scene, length: phaseLength}
	before := s.fleet.fallbacks()
	if err := scene.begin(ctx, s.server); err != nil {
		return err
	}
	within, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { p.know(within, s.fleet) })
	group.Go(func() { s.redraw(within, p, before) })
	err := p.load(ctx, s.fleet)
	cancel()
	group.Wait()
	p.fallbacks, p.state = s.fleet.fallbacks()-before, s.fleet.state()
	s.spells = append(s.spells, p)
	s.line(s.row(p))
	return err
}

// redraw shows a phase while it runs.
func (s *fleetShow) redraw(ctx context.Context, p *spell, before uint64) {
	if s.config.Plain {
		return
	}
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		shown := &spell{scene: p.scene, fallbacks: s.fleet.fallbacks() - before, state: s.fleet.state(), took: p.times()}
		shown.admitted, shown.refused, shown.failed = p.counts()
		fmt.Fprintf(s.config.Out, "\r%s\x1b[K\r", s.row(shown))
	}
}

func (s *spell) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Duration(nil), s.took...)
}

func (s *spell) counts() (admitted, refused, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitted, s.refused, s.failed
}

const columnHeads = "                    admitted   refused   failed       p50       p99       max   without Redis   store"

func (s *fleetShow) row(p *spell) string {
	admitted, refused, failed := p.counts()
	ink := map[string]string{"ok": green, "degraded": yellow, "down": red}[p.state]
	return fmt.Sprintf("%-18s %9d %9d %8d %9s %9s %9s %15d   %s", p.name, admitted, refused, failed,
		short(p.at(0.5)), short(p.at(0.99)), short(p.at(1)), p.fallbacks, s.config.Colour.ink(ink, p.state))
}

func short(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}

func (s *fleetShow) heading() {
	c := s.config.Colour
	s.line(c.ink(bold, "Plimsoll") + fmt.Sprintf(": %d workers that share limits in a Redis of their own at %s", fleetSize, s.server.Addr))
	s.line(c.ink(faint, fmt.Sprintf("%d requests a second under a limit of %d/s; a decision waits %s for Redis at most, then a worker goes by its third", fleetRate, rateOfLimit, s.config.budget())))
	s.line(c.ink(faint, "times are from the planned moment of sending to the answer, of a service that answers at once"))
	if s.config.busy > usual {
		s.line(c.ink(yellow, "This machine is busy, so decisions may wait longer than the 2ms that are usual."))
	}
	s.line("")
}

func (s *fleetShow) line(text string) {
	if s.config.Plain {
		text = ascii.Replace(text)
	} else {
		text += "\x1b[K"
	}
	_, _ = io.WriteString(s.config.Out, text+"\n")
}
