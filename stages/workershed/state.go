package workershed

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// State is what a worker holds and what it has learnt: requests in flight, the
// queue, the limit, the level. It outlives the stages that are made on it. Use
// NewState. All methods are safe for concurrent use.
type State struct {
	// One line of memory: what each request that begins or ends writes, and
	// what it reads to do so.
	slots slots
	limit atomic.Int64  // the reduced limit, or unlimited
	drops atomic.Uint64 // bits of the higher of level and strain
	meter meter

	level   atomic.Uint64 // bits of the slow layer's level
	strain  atomic.Uint64 // bits of the strain
	asking  [priority.Count]atomic.Int32
	remote  atomic.Bool // the store takes time, so the stamp of a request is old when it takes
	outlook outlook
	queue   queue
	streams gauge
	exempt  gauge
	refused refusals
	clock   clock
	glances glances
	history timeline

	current atomic.Pointer[settings] // of the stage that ticked last

	ticking  sync.Mutex // guards what follows
	backlog  func() backlog
	parallel int // processors, or 0 for those of this process
	limiter  limiter
	strained strain
	slow     level
	pinned   bool
	usage    usage
	pace     pace
	measured measured
}

// unlimited is the limit of a state that has not lowered it.
const unlimited = math.MaxInt64

// refusals count by class since the state was made.
type refusals struct {
	level, room, timeOut [priority.Count]atomic.Uint64
}

// measured is what the last tick found.
type measured struct {
	backlog     backlog
	utilization float64
	demand      float64
}

// NewState makes the state of a worker on which nothing runs.
func NewState() *State {
	s := &State{clock: newClock(), backlog: newRunQueue().read, glances: glances{backlog: newRunQueue().read}}
	s.queue.slots, s.queue.places = &s.slots, newPlaces()
	s.pace.outlook = &s.outlook
	s.limit.Store(unlimited)
	return s
}

// Processors are what a worker runs on, where that is not this process.
type Processors struct {
	Count int // how many
	// Backlog tells how many goroutines are ready to run, and how long nine of
	// ten were, at most, before they ran, since it was last asked. One goroutine
	// calls it, at each tick.
	Backlog func() (delay time.Duration, runnable int)
	// Glance tells the same since Glance was last asked. Requests call it
	// between two ticks, one at a time. nil: none does.
	Glance func() (delay time.Duration, runnable int)
}

// NewSimulatedState makes the state of a worker whose processors are simulated,
// and in which nothing is left to chance.
func NewSimulatedState(p Processors) *State {
	s := NewState()
	s.parallel = p.Count
	s.backlog = told(p.Backlog)
	s.glances.backlog = nil
	if p.Glance != nil {
		s.glances.backlog = told(p.Glance)
	}
	s.queue.places.factor = [2]uint64{0x9e3779b97f4a7c15, 0xd1b54a32d192ed03}
	return s
}

func told(by func() (time.Duration, int)) func() backlog {
	return func() (b backlog) {
		b.delay, b.runnable = by()
		return b
	}
}

func (s *State) processors() int {
	if s.parallel > 0 {
		return s.parallel
	}
	return runtime.GOMAXPROCS(0)
}

// moment is when a request takes. Its own stamp serves, unless it has asked a
// store since, or cannot be true.
func (s *State) moment(r *pipeline.Request) int64 {
	const plausible = int64(time.Minute)
	since, moment := s.meter.since.Load(), r.Moment()
	if s.remote.Load() || since != 0 && (moment < since-plausible || moment > since+plausible) {
		return s.clock.now()
	}
	return moment
}

// ahead is how many requests of a class and of more important ones wait, or
// will perhaps wait because they ask the store.
func (s *State) ahead(class int) (n int) {
	if s.slots.word.Load()&waiting == 0 && !s.remote.Load() { // nobody waits or asks: the rule
		return 0
	}
	for ; class < priority.Count; class++ {
		n += int(s.queue.queued[class].Load()) + int(s.asking[class].Load())
	}
	return n
}

// dropped is the higher of the levels.
func (s *State) dropped() float64 { return math.Float64frombits(s.drops.Load()) }

func (s *State) setDrops() { s.drops.Store(math.Float64bits(max(s.levels()))) }

// levels are what drops cohorts now: the level of the slow layer, and strain.
func (s *State) levels() (slow, strain float64) {
	return math.Float64frombits(s.level.Load()), math.Float64frombits(s.strain.Load())
}

// shortestWindow is the least time between two ticks that count: two pipelines
// on one state must not make it adapt at twice the pace.
const shortestWindow = 50 * time.Millisecond

// tick lets the state adapt, under the settings of the stage that ticks.
func (s *State) tick(now int64, c *settings) {
	s.ticking.Lock()
	defer s.ticking.Unlock()
	s.clock.follow(now)
	if since := s.meter.since.Load(); since != 0 && now >= since && now-since < int64(shortestWindow) {
		return
	}
	s.adopt(c, now)
	seen := s.backlog()
	r, ok := s.meter.read(now, s.slots.total())
	if !ok {
		return
	}
	s.measured.backlog = seen
	good := seen.delay < calmRunQueue && r.dropped == 0 && s.slow.value == 0 && s.strained.value == 0 && s.measured.utilization < lowUse
	s.pace.learn(&r, &s.meter, now, good)
	s.adapt(&r, now, c)
	s.climb(&r, now, c)
	s.queue.raised(now)
}

// adopt notes that other settings hold now.
func (s *State) adopt(c *settings, now int64) {
	before := s.current.Swap(c)
	if before == nil || before == c {
		return
	}
	from, to := s.limitUnder(before), s.limitUnder(c)
	if from != to {
		s.history.note(step(Limit, Settings, float64(c.maxInFlight), float64(from), float64(to)).at(now))
	}
}

// adapt moves the limit, and the strain.
func (s *State) adapt(r *reading, now int64, c *settings) {
	if !c.adapts {
		s.setLimiter(limiter{}, c.maxInFlight)
		s.setStrain(strain{}, 0, now)
		return
	}
	processors := s.processors()
	from := s.limiter.limit(c.maxInFlight)
	floor := min(max(processors, priority.Count), c.maxInFlight)
	p := pressure{delay: s.measured.backlog.delay, busy: r.busy, ended: r.ended, dropped: r.dropped}
	next, signal := s.limiter.next(p, floor, c.maxInFlight)
	s.setLimiter(next, c.maxInFlight)
	if to := next.limit(c.maxInFlight); from != to {
		s.history.note(step(Limit, signal, p.value(signal, &next), float64(from), float64(to)).at(now))
	}
	limited := p.busy > float64(from)/2 && from > floor
	s.setStrain(s.strained.next(s.measured.backlog, processors, limited), p.delay, now)
}

func (s *State) setLimiter(l limiter, maximum int) {
	s.limiter = l
	if l.reduced == 0 {
		s.limit.Store(unlimited)
		return
	}
	s.limit.Store(int64(l.limit(maximum)))
}

func (s *State) setStrain(next strain, delay time.Duration, now int64) {
	if s.pinned {
		next = strain{}
	}
	from, to := s.strained.value, next.value
	s.strained = next
	if from != to {
		s.strain.Store(math.Float64bits(to))
		s.setDrops()
		s.history.note(step(Strain, RunQueue, delay.Seconds(), from, to).at(now))
	}
}

// value is the figure behind a signal.
func (p *pressure) value(s Signal, l *limiter) float64 {
	switch s {
	case RunQueue:
		return p.delay.Seconds()
	case TimeOuts:
		return l.dropped / l.ended
	default:
		return p.busy
	}
}

// climb moves the level, once a second.
func (s *State) climb(r *reading, now int64, c *settings) {
	seconds := r.length.Seconds()
	over := s.usage.add(usedSecond{
		busy:    r.busy * seconds,
		room:    float64(s.limitUnder(c)) * seconds,
		refused: float64(r.refused) * time.Duration(s.outlook.service.Load()).Seconds(),
		length:  r.length,
	})
	if !over {
		return
	}
	var step time.Duration
	s.measured.utilization, s.measured.demand, step = s.usage.over(c.ramp.window)
	if s.pinned {
		return
	}
	next := level{}
	if c.ramps {
		next = s.slow.next(s.measured.utilization, step, &c.ramp)
	}
	s.setLevel(next, Utilization, s.measured.utilization, now)
}

func (s *State) setLevel(next level, signal Signal, value float64, now int64) {
	from := s.slow.value
	s.slow = next
	s.level.Store(math.Float64bits(next.value))
	s.setDrops()
	if from != next.value {
		s.history.note(step(Level, signal, value, from, next.value).at(now))
	}
}

// Limit is how many requests may be in flight now, as a worker reports its
// capacity to the fleet: cheap, and fit to be called at any time. It is 0
// before there is a stage.
func (s *State) Limit() int {
	if c := s.current.Load(); c != nil {
		return s.limitUnder(c)
	}
	return 0
}

// limitUnder is the limit under some settings.
func (s *State) limitUnder(c *settings) int {
	if !c.adapts {
		return c.maxInFlight
	}
	return int(min(s.limit.Load(), int64(c.maxInFlight)))
}

// Pin holds what cohorts are dropped from now on, whatever the slow layer and
// strain say: 0 drops nothing, 1 all of Low, 2 Normal too, 3 High too. Values
// outside are clamped. To freeze it, pin the level of a Snapshot.
func (s *State) Pin(at float64) {
	s.ticking.Lock()
	defer s.ticking.Unlock()
	s.pinned = true
	at = unit(at/maxLevel) * maxLevel
	s.setLevel(level{value: at}, Operator, at, s.clock.now())
	s.setStrain(strain{}, 0, s.clock.now())
}

// Unpin lets the slow layer go on from where it was pinned: it sinks at its
// own pace, and stops by itself when utilization rises again.
func (s *State) Unpin() {
	s.ticking.Lock()
	defer s.ticking.Unlock()
	s.pinned = false
}
