package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
)

// Run serves until the context ends, and then drains: no new connections,
// what is in flight ends within the grace. It returns nil when all of it did.
func (p *Process) Run(ctx context.Context) error {
	public, err := net.Listen("tcp", string(p.began.Listen))
	if err != nil {
		return fmt.Errorf("process: listen: %w", err)
	}
	operators, err := net.Listen("tcp", string(p.began.Admin.Listen))
	if err != nil {
		public.Close()
		return fmt.Errorf("process: admin.listen: %w", err)
	}
	return p.Serve(ctx, public, operators)
}

// Serve is Run on listeners that are open already. It closes them.
func (p *Process) Serve(ctx context.Context, public, operators net.Listener) error {
	office, err := p.openOffice(operators)
	if err != nil {
		return errors.Join(err, public.Close(), operators.Close())
	}
	p.recall(ctx)
	background, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives what it serves
	if err := p.startPush(background); err != nil {
		stop()
		return errors.Join(err, public.Close(), operators.Close())
	}
	defer p.endPush()
	var group sync.WaitGroup
	defer func() { p.report(p.built.Load().Live.Close()) }()
	defer group.Wait()
	defer stop()
	group.Go(func() { p.report(p.pipeline.Run(background)) })
	group.Go(func() { p.checkStore(background) })
	group.Go(func() { p.report(p.control.Run(background)) })
	group.Go(func() { p.noteStore(background) })
	group.Go(func() { p.report(p.observing.refusals.Run(background, p.telemetry)) })
	if p.watcher != nil {
		group.Go(func() { p.report(p.watcher.Run(background)) })
	}
	office.serve(background, &group)
	defer p.close(office)
	p.describe(public.Addr(), operators.Addr())
	p.welcome(background, &group, office.api)
	p.enter(admin.Serving)
	drained := make(chan struct{})
	ends := context.AfterFunc(ctx, func() { defer close(drained); p.drain() })
	defer func() {
		if !ends() {
			<-drained
		}
	}()
	return p.server.Serve(ctx, public)
}

// recall makes the overrides hold that held before this process began, as far
// as they can be read in a moment.
func (p *Process) recall(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if err := p.control.Refresh(ctx); err != nil {
		p.log.Warn("overrides could not be read before the first request", "error", err)
	}
}

func (p *Process) ready() bool { return *p.state.Load() == admin.Serving }

func (p *Process) drain() {
	p.enter(admin.Draining)
	p.built.Load().Live.Member().Drain()
	p.log.Info("draining", "in_flight", p.pipeline.InFlight(), "grace", p.began.Server.Grace)
}

// close ends the listeners for operators, the last to go.
func (p *Process) close(o *office) {
	o.close()
	p.proxy.CloseIdleConnections()
	for _, files := range []*control.File{p.files, p.tokenFiles} {
		if files != nil {
			p.report(files.Close())
		}
	}
	p.log.Info("ended", "in_flight", p.pipeline.InFlight())
}

func (p *Process) report(err error) {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, http.ErrServerClosed) {
		p.log.Error("background work ended", "error", err)
	}
}
