package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// jitter is how far a beat may be from its time, so that workers that were
// started together do not call together for ever.
const jitter = 0.2

// Member is this process as a member of its fleet.
type Member struct {
	config  Config
	epoch   uint64
	terms   atomic.Pointer[Terms]
	lease   atomic.Pointer[Lease] // nil before the first heartbeat was answered or missed
	onView  atomic.Pointer[func(store.View)]
	leaving atomic.Bool
	running atomic.Bool
	hurry   chan struct{}  // a beat is due now
	calling chan struct{}  // full while the store is asked
	refused store.PerClass // not reported yet; owned by Run
	pace    time.Duration  // between beats that are answered, and for an answer; owned by Run
}

// New makes a member. It says nothing to the fleet before Run. The error names
// every fault of the configuration.
func New(c Config) (*Member, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	m := &Member{config: c, epoch: uint64(c.Random() * (1 << 63)), hurry: make(chan struct{}, 1), calling: make(chan struct{}, 1), pace: c.Beat}
	m.terms.Store(&c.Terms)
	m.OnView(c.OnView)
	return m, nil
}

// Worker is the name that the fleet knows this process by.
func (m *Member) Worker() string { return m.config.Worker }

// SetTerms changes what the fleet is told, with a beat at once.
func (m *Member) SetTerms(t Terms) error {
	if err := t.validate(); err != nil {
		return err
	}
	m.terms.Store(&t)
	m.beatNow()
	return nil
}

// OnView has each answer from now on told to tell, in Run's goroutine. Nil
// tells nobody. It replaces Config.OnView.
func (m *Member) OnView(tell func(store.View)) {
	if tell == nil {
		m.onView.Store(nil)
		return
	}
	m.onView.Store(&tell)
}

// Drain tells the fleet that this worker is shutting down: its capacity no
// longer counts, what it still does counts on. Run goes on beating.
func (m *Member) Drain() {
	m.leaving.Store(true)
	m.beatNow()
}

func (m *Member) beatNow() {
	select {
	case m.hurry <- struct{}{}:
	default:
	}
}

// Run beats until the context ends, and takes its leave of the fleet then. Call
// it once, in a goroutine.
func (m *Member) Run(ctx context.Context) error {
	if m.running.Swap(true) {
		return errors.New("fleet: Run is running already")
	}
	defer m.running.Store(false)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			m.leave(ctx)
			return ctx.Err()
		case <-timer.C:
		case <-m.hurry:
		}
		timer.Reset(m.pause(m.beat(ctx)))
	}
}

// pause is how long until the next beat: one that had no answer is made up for
// as soon as usual.
func (m *Member) pause(answered bool) time.Duration {
	beat := m.config.Beat
	if answered {
		beat = m.pace
	}
	return time.Duration(float64(beat) * (1 - jitter + 2*jitter*m.config.Random()))
}

// leave sends a last beat, so that the fleet need not wait for silence. The one
// that the end of the context has cut short is let out of its way.
func (m *Member) leave(ctx context.Context) {
	m.leaving.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.config.Beat)
	defer cancel()
	select {
	case m.calling <- struct{}{}:
		<-m.calling
	case <-ctx.Done():
		return
	}
	again := time.NewTicker(m.config.Beat / 10)
	defer again.Stop()
	for !m.beat(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// beat exchanges one heartbeat, within the time of one, and reports whether it
// was answered.
func (m *Member) beat(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, m.pace)
	defer cancel()
	r := m.report()
	v, err := m.call(ctx, r)
	took := time.Duration(m.config.Now() - r.Now)
	if err != nil {
		m.pace = m.config.unanswered(m.pace, took)
		m.missed(err)
		return false
	}
	m.pace = m.config.answered(took)
	m.refused = store.PerClass{}
	m.lease.Store(&Lease{View: v, Heard: r.Now, Until: r.Now + int64(v.LeaseFor)})
	if tell := m.onView.Load(); tell != nil {
		(*tell)(v)
	}
	return true
}

// call asks the store, and leaves it alone when it does not answer: at most
// one call is under way, even in a driver that does not heed its context.
func (m *Member) call(ctx context.Context, r store.Report) (store.View, error) {
	type answer struct {
		view store.View
		err  error
	}
	select {
	case m.calling <- struct{}{}:
	default:
		return store.View{}, errors.New("fleet: the store has not answered the last heartbeat")
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if value := recover(); value != nil {
				a.err = fmt.Errorf("fleet: the store panicked: %v", value)
			}
			<-m.calling
			answers <- a
		}()
		a.view, a.err = m.config.Store.Sync(ctx, r)
	}()
	select {
	case a := <-answers:
		return a.view, a.err
	case <-ctx.Done():
		return store.View{}, ctx.Err()
	}
}

// missed keeps the last lease and counts.
func (m *Member) missed(err error) {
	next := m.Lease()
	next.Missed, next.Err = next.Missed+1, err
	m.lease.Store(&next)
}

func (m *Member) report() store.Report {
	terms := m.terms.Load()
	r := store.Report{
		Worker: m.config.Worker, Epoch: m.epoch, Now: m.config.Now(), Beat: m.pace,
		Draining: m.leaving.Load(), Capacity: m.config.Capacity(),
		Reserve: terms.Reserve, Declared: terms.Declared,
	}
	if l := m.Lease(); r.Now < l.Until {
		r.Lease = l.View.Lease
	}
	var refused store.PerClass
	r.InFlight, r.Demanded, refused = m.config.Usage.Usage(r.Now)
	for i := range refused {
		m.refused[i] += refused[i]
	}
	r.Refused = m.refused
	return r
}
