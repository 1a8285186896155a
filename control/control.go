package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Config sets a control. Storage is required.
type Config struct {
	// Storage keeps the fleet's document.
	Storage Storage
	// Local keeps the document of this worker alone, for when the fleet's
	// storage is down. Default: memory.
	Local Storage
	// Policy is the guard rails.
	Policy Policy
	// Worker is the name of this process, as Scope.Worker names it. Default
	// none: overrides for one worker do not concern it.
	Worker string
	// Apply makes effects hold here. It is called by Run's goroutine, when they
	// changed and after Control.Reapply; it says which overrides are not in
	// effect, by id, and why. After an error it is called again in a second.
	// Nil: effects are only told by State.
	Apply func(Effects) (unmet map[string]string, err error)
	// Foresee says what an override would have done: see Preview. Nil: nobody
	// can tell.
	Foresee Foresee
	// Timeout bounds each call of a storage, 10ms … 1m. Default 2s.
	Timeout time.Duration
	// Poll is how often the storage is read even if nobody said that anything
	// changed, 100ms … 1h. Default 15s.
	Poll time.Duration
	// Log is told of changes, ends, and of what is not in effect. Default: nobody.
	Log *slog.Logger
}

// Control is the control plane as one worker sees it. Make one with New.
type Control struct {
	config Config
	shared *book // the fleet's
	local  *book // this worker's own

	wake    chan struct{} // something is to be applied
	nudge   chan struct{} // something is to be read
	reapply atomic.Bool
	running atomic.Bool

	applying sync.Mutex      // guards what follows: effects are applied one after the other
	told     map[string]bool // overrides whose end is still to be told

	mu        sync.Mutex
	applied   applied
	listeners map[chan struct{}]struct{}
}

// applied is what Apply was last told, and said.
type applied struct {
	effects Effects
	unmet   map[string]string
	err     error
	at      time.Time
	times   int
}

// New makes a control. It reads nothing before it is asked to. The error names
// every fault.
func New(c Config) (*Control, error) {
	errs := []error{c.Policy.complete()}
	if c.Storage == nil {
		errs = append(errs, errors.New("control: a storage is needed"))
	}
	if c.Local == nil {
		c.Local = &Memory{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	errs = append(errs,
		within("timeout", &c.Timeout, 2*time.Second, [2]time.Duration{10 * time.Millisecond, time.Minute}),
		within("poll", &c.Poll, 15*time.Second, [2]time.Duration{100 * time.Millisecond, time.Hour}))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Control{
		config: c, wake: make(chan struct{}, 1), nudge: make(chan struct{}, 1), listeners: map[chan struct{}]struct{}{}, told: map[string]bool{},
		shared: &book{name: "the fleet's", storage: c.Storage, timeout: c.Timeout},
		local:  &book{name: "this worker's own", storage: c.Local, timeout: c.Timeout},
	}, nil
}

// within sets a default, and checks bounds.
func within(name string, d *time.Duration, fallback time.Duration, bounds [2]time.Duration) error {
	if *d == 0 {
		*d = fallback
	}
	if *d < bounds[0] || *d > bounds[1] {
		return fmt.Errorf("control: %s must be %v … %v, got %v", name, bounds[0], bounds[1], *d)
	}
	return nil
}

// Do makes a change, or says why not with one of this package's errors; any
// other is a fault of the caller's. It ends with its context, and takes a few
// calls of the storage. Its effect holds here some milliseconds later if Run
// runs, and in all connected workers within a second.
func (c *Control) Do(ctx context.Context, change Change) (Result, error) {
	if change.Action == Create {
		change.LocalOnly = change.LocalOnly || change.Override.LocalOnly
	}
	if err := change.complete(); err != nil {
		return Result{}, err
	}
	b := c.book(change.LocalOnly)
	if change.Action == Undo {
		record, err := b.record(ctx, change.Seq)
		if err != nil {
			return Result{}, err
		}
		change.undone = record
	}
	res, err := b.do(ctx, &c.config.Policy, &change)
	c.logChange(&change, &res, err)
	c.awake()
	return res, err
}

func (c *Control) book(local bool) *book {
	if local {
		return c.local
	}
	return c.shared
}

func (c *Control) logChange(change *Change, res *Result, err error) {
	attrs := []any{
		"action", change.Action, "actor", change.Actor.Name, "override", res.Override.ID, "what", change.Override.What,
		"reason", change.Override.Reason, "incident", change.Override.Incident, "request", change.RequestID, "local", change.LocalOnly,
	}
	if err != nil {
		c.config.Log.Warn("control change not made", append(attrs, "error", err)...)
		return
	}
	c.config.Log.Info("control changed", append(attrs, "version", res.Version, "seq", res.Seq, "expires", res.Override.ExpiresAt)...)
}

// Note puts something beside the document into the audit trail, such as a
// token that was made or a login that failed.
func (c *Control) Note(ctx context.Context, actor Actor, subject, detail string) error {
	change := Change{Action: Note, Actor: actor, ID: subject, Reason: detail}
	if err := change.complete(); err != nil {
		return err
	}
	_, err := c.shared.do(ctx, &c.config.Policy, &change)
	return err
}

// Audit lists records of the fleet's trail, oldest first, at most most, from
// a number on: 1 is the first.
func (c *Control) Audit(ctx context.Context, from uint64, most int) ([]Record, error) {
	return c.shared.audit(ctx, from, most)
}

// LocalAudit is Audit of the trail of this worker's own document.
func (c *Control) LocalAudit(ctx context.Context, from uint64, most int) ([]Record, error) {
	return c.local.audit(ctx, from, most)
}

// Verify goes through the whole trail that is kept and names the first record
// that was altered, removed or moved. An error says that it could not be read.
func (c *Control) Verify(ctx context.Context) (Verification, error) { return c.shared.verify(ctx) }

// Seen tells the control which revision somebody has seen: what a heartbeat
// brings. It does not wait.
func (c *Control) Seen(revision uint64) {
	if c.shared.behind(revision) {
		c.awake()
	}
}

// Changed tells the control that something may have changed: what a push
// brings. It does not wait.
func (c *Control) Changed() {
	c.shared.stale.Store(true)
	c.awake()
}

// Reapply has Run call Apply soon, though no override changed: a configuration
// was read anew. It does not wait.
func (c *Control) Reapply() {
	c.reapply.Store(true)
	c.awake()
}

func (c *Control) awake() {
	poke(c.wake)
	poke(c.nudge)
}

// poke leaves a sign that there is something to do.
func poke(sign chan<- struct{}) {
	select {
	case sign <- struct{}{}:
	default:
	}
}

// Subscribe returns a channel that holds a value after each change of State,
// and a function that ends that. Who is slow misses values, and not the last.
func (c *Control) Subscribe() (changes <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[ch] = struct{}{}
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, ch)
	}
}

func (c *Control) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.listeners {
		poke(ch)
	}
}
