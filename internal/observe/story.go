package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/internal/load"
)

// Act is a part of the story.
type Act struct {
	Name     string
	Multiple float64 // of what the service can do, offered meanwhile
	Share    float64 // of the story's length
	begin    func(context.Context, *Stand) error
	end      func(*Stand)
}

// Acts is the story: a bad hour, in short.
var Acts = []Act{
	{Name: "a calm day", Multiple: 0.6, Share: 4},
	{Name: "three times too much", Multiple: 3, Share: 8},
	{Name: "the store hangs", Multiple: 1, Share: 4, begin: hold(size), end: pass},
	{Name: "people step in", Multiple: 2, Share: 5, begin: stepIn},
	{Name: "a worker falls silent", Multiple: 0.8, Share: 4, begin: hold(1), end: pass},
	{Name: "the service hangs up", Multiple: 0.6, Share: 3, begin: hangUp, end: func(s *Stand) { s.broken.Store(false) }},
	{Name: "calm again", Multiple: 0.6, Share: 4},
}

// hold keeps some workers from their store.
func hold(workers int) func(context.Context, *Stand) error {
	return func(_ context.Context, s *Stand) error {
		for _, way := range s.ways[size-workers:] {
			way.Hold()
		}
		return nil
	}
}

func pass(s *Stand) {
	for _, way := range s.ways {
		way.Pass()
	}
}

func hangUp(_ context.Context, s *Stand) error {
	s.broken.Store(true)
	return nil
}

// stepIn makes overrides, one of which has no effect and one of which is only
// tried; and one worker gets a file that is wrong.
func stepIn(ctx context.Context, s *Stand) error {
	for _, o := range []control.Override{
		{What: control.Shed, Scope: control.Scope{Below: "normal"}, Percent: 50},
		{What: control.Pin, Set: control.Level, Value: 1},
		{What: control.StageMode, Scope: control.Scope{Stage: "no-such-stage"}, Set: control.Shadow},
		{What: control.Caller, Scope: control.Scope{Caller: "abuser"}, Set: control.Block, DryRun: true},
	} {
		o.Reason = "part of the story"
		if err := s.override(ctx, o); err != nil {
			return err
		}
	}
	if err := os.WriteFile(s.files[0], append(protection, "nonsense: true\n"...), 0o600); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	_ = s.Workers[0].Reload() // it is refused, which is the point
	return nil
}

// override makes an override for a minute, whoever else makes one meanwhile,
// and tries again for some seconds when the store is only just back.
func (s *Stand) override(ctx context.Context, o control.Override) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	c := s.Workers[0].Control()
	for {
		change := control.Change{Action: control.Create, Override: o, TTL: time.Minute, Actor: control.Actor{Name: "ann", Admin: true}, Expect: max(c.State().Document.Version, 1)}
		_, err := c.Do(ctx, change)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// Story is how a story went.
type Story struct {
	From, To time.Time
	Begins   []time.Time // of the acts
}

// Tell plays the story within a length of time, and says at each act that it
// begins.
func (s *Stand) Tell(ctx context.Context, length time.Duration, say func(Act)) (*Story, error) {
	plan := load.Plan{Base: s.payments.Capacity(), Deadline: time.Second, Seed: 1}
	all := 0.0
	for _, act := range Acts {
		all += act.Share
	}
	for _, act := range Acts {
		plan.Phases = append(plan.Phases, load.Phase{Name: act.Name, Multiple: act.Multiple, Duration: time.Duration(act.Share / all * float64(length))})
	}
	client := load.NewClient(s.request)
	defer client.Close()
	generator, err := load.New(load.Config{Plan: plan, Do: client.Do})
	if err != nil {
		return nil, err
	}
	loading := make(chan error, 1)
	go func() { loading <- generator.Run(ctx) }()
	story := &Story{From: time.Now()}
	for i := range Acts {
		story.Begins = append(story.Begins, time.Now())
		say(Acts[i])
		if err := s.play(ctx, &Acts[i], plan.Phases[i].Duration); err != nil {
			return nil, errors.Join(err, <-loading)
		}
	}
	err = <-loading
	story.To = time.Now()
	return story, err
}

func (s *Stand) play(ctx context.Context, act *Act, length time.Duration) error {
	until := time.NewTimer(length)
	defer until.Stop()
	if act.begin != nil {
		if err := act.begin(ctx, s); err != nil {
			return fmt.Errorf("observe: %s: %w", act.Name, err)
		}
	}
	if act.end != nil {
		defer act.end(s)
	}
	select {
	case <-until.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request is one of thirty callers', or of one that sends a sixth of all.
func (s *Stand) request(a load.Arrival) *http.Request {
	to := a.Number % size
	if a.Pick%16 == 0 {
		to = size // a batch
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.Public[to]+"/v1/charges/ch_1", http.NoBody)
	if err != nil {
		panic("observe: " + err.Error()) // the addresses are our own
	}
	caller := fmt.Sprint("caller-", a.Pick/16%30)
	if a.Pick/1024%6 == 0 {
		caller = "abuser"
	}
	r.Header.Set("X-Caller", caller)
	r.Header.Set("X-Kind", [...]string{"report", "read", "refund", "charge"}[a.Class.Index()])
	return r
}
