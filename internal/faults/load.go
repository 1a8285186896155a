package faults

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// kind is who sends a request.
type kind uint8

const (
	once    kind = iota // a caller that comes once
	greedy              // one of three callers that send more than they may, one for each policy
	spoiled             // callers whose keys a row spoils
	kinds
)

// spoiledCallers is how many callers there are whose keys a row may spoil:
// enough that none spends its quota.
const spoiledCallers = 300

func spoiledName(n int) string { return "spoiled-" + strconv.Itoa(n/10%spoiledCallers) }

// shot is one request of the load.
type shot struct {
	request  pipeline.Request
	kind     kind
	policy   int
	sent     time.Time
	took     time.Duration // until the decision
	decision pipeline.Decision
	fellBack bool // the store did not decide it
}

func (s *shot) admitted() bool { return s.decision.Verdict == pipeline.Admit }

// load sends requests on a schedule that no answer delays.
type load struct {
	rig     *rig
	every   time.Duration
	holds   time.Duration // how long a request runs
	spoils  bool
	began   time.Time
	decided atomic.Int64
	clean   atomic.Int64 // in a row that the store decided
	flying  atomic.Int64

	mu    sync.Mutex
	shots []*shot
	late  []time.Duration // of the schedule itself
}

// run sends until the context ends, and waits for what it sent.
func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(max(l.every, time.Millisecond))
	defer tick.Stop()
	var flying sync.WaitGroup
	defer flying.Wait()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := int(time.Since(l.began) / l.every); n < due; n++ {
			s := l.next(n)
			l.flying.Add(1)
			flying.Go(func() {
				defer l.flying.Add(-1)
				l.fire(s)
			})
		}
	}
}

// next makes the n-th request. Of ten, seven are of callers that come once.
func (l *load) next(n int) *shot {
	s := &shot{kind: once, policy: n % policy, sent: time.Now()}
	name := "once-" + strconv.Itoa(n)
	switch n / policy % 10 {
	case 1, 4:
		s.kind, name = greedy, "greedy-"+policies[s.policy].String()
	case 7, 8:
		if l.spoils {
			s.kind, name = spoiled, spoiledName(n)
		}
	}
	s.request.Method, s.request.Path = "GET", pathOf(policies[s.policy], s.kind == greedy)
	s.request.Caller = pipeline.Caller{ID: store.KeyOf(name), Name: name}
	l.rig.watcher.shots.Store(&s.request, s)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shots = append(l.shots, s)
	l.late = append(l.late, s.sent.Sub(l.began)-time.Duration(n+1)*l.every)
	return s
}

func (l *load) fire(s *shot) {
	p := l.rig.pipeline
	s.request.Now = p.Now()
	s.decision = p.Acquire(context.Background(), &s.request)
	s.took = time.Since(s.sent)
	l.decided.Add(1)
	if s.kind == once {
		if s.fellBack {
			l.clean.Store(0)
		} else {
			l.clean.Add(1)
		}
	}
	if !s.admitted() {
		return
	}
	time.Sleep(l.holds) // the work
	p.Release(&s.request, pipeline.Result{Outcome: pipeline.Completed})
}

// ownerOf is whose state the limits of a caller are.
func ownerOf(name string) store.Key {
	r := pipeline.Request{Caller: pipeline.Caller{ID: store.KeyOf(name), Name: name}}
	return byCaller.Key(&r)
}
