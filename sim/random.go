package sim

import (
	"fmt"
	"strings"
	"time"
)

// Random makes up a scenario from a seed: a small fleet, callers that meet
// their limits, and faults one after the other and at once. It expects nothing
// but that the invariants hold, and that all is well again at the end.
func Random(seed uint64) *Scenario {
	m := &maker{chance: newChance(seed, 77)}
	m.setup()
	for m.at = 2 * time.Second; m.at < m.calm; m.at += m.span(500*time.Millisecond, 6*time.Second) {
		m.fault()
	}
	m.heal()
	s, err := Parse(fmt.Sprintf("random-%d", seed), m.text.String())
	if err != nil {
		panic(err) // it is not a matter of the seed
	}
	return s
}

// maker writes a scenario.
type maker struct {
	chance
	text    strings.Builder
	at      time.Duration
	calm    time.Duration // when all faults are over
	workers int
	killed  map[int]bool
}

func (m *maker) line(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

// happens is a line of the timeline.
func (m *maker) happens(format string, args ...any) {
	m.line("%s %s", m.at.Round(time.Millisecond), fmt.Sprintf(format, args...))
}

func (m *maker) span(from, to time.Duration) time.Duration {
	return from + time.Duration(m.unit()*float64(to-from))
}

// Quiet is how long a random scenario goes on after its last fault.
const quiet = 8 * time.Second

func (m *maker) setup() {
	m.workers, m.killed = 2+m.below(3), map[int]bool{}
	m.calm = m.span(25*time.Second, 50*time.Second).Truncate(time.Second)
	m.line("# made up")
	m.line("length %s", m.calm+quiet)
	m.line("workers %d", m.workers)
	m.line("service %d slots of %s", 2+m.below(3), []string{"150ms", "200ms exponential", "400ms"}[m.below(3)])
	m.line("limit %d", 5+m.below(8))
	m.line("deadline 1s")
	m.line("callers %d", 4+m.below(16))
	m.line("rate %d/s burst %d", 1+m.below(8), 1+m.below(12))
	m.line("slots %d lease %s", 1+m.below(6), m.span(time.Second, 6*time.Second).Round(time.Millisecond))
	m.line("reserve %d%%", []int{0, 10, 20, 50}[m.below(4)])
	m.line("clocks %s apart %.3f%% drift", m.span(0, 10*time.Minute).Round(time.Millisecond), 0.02*m.unit())
	m.line("impatient %d%%", m.below(20))
	m.line("retries %d after 100ms", m.below(3))
	m.line("ramp %s", []string{"stripe", "fast", "off"}[m.below(3)])
	m.line("0s load %.2fx", 0.2+m.unit())
}

// fault is the next that happens.
func (m *maker) fault() {
	worker := 1 + m.below(m.workers)
	switch m.below(16) {
	case 0:
		m.happens("load %.2fx", 0.2+1.6*m.unit())
	case 1:
		m.happens("abuser %.2fx", 2*m.unit())
	case 2:
		m.happens("streams %.2f/s lasting %s", m.unit(), m.span(time.Second, 20*time.Second).Round(time.Millisecond))
	case 3:
		m.happens("service %s", m.span(50*time.Millisecond, 600*time.Millisecond).Round(time.Millisecond))
	case 4:
		m.happens("hang %.1f%%", 2*m.unit())
	case 5, 6:
		m.happens("store %s", []string{"lost", "refusing"}[m.below(2)])
	case 7:
		m.happens("store back")
	case 8:
		m.happens("store paused")
		m.at += m.span(10*time.Millisecond, 5*time.Second)
		m.happens("store resumed")
	case 9:
		m.happens("store reset")
	case 10:
		m.happens("store empty")
	case 11:
		m.happens("store %s away", m.span(100*time.Microsecond, 8*time.Millisecond).Round(time.Microsecond))
	case 12:
		m.happens("store loses %.1f%%", 20*m.unit())
	default:
		m.trouble(worker)
	}
}

// trouble is what happens to a worker.
func (m *maker) trouble(worker int) {
	switch kind := m.below(4); {
	case m.killed[worker]:
		m.happens("worker %d started", worker)
		delete(m.killed, worker)
	case kind == 0 && len(m.killed) < m.workers-1:
		m.happens("worker %d killed", worker)
		m.killed[worker] = true
	case kind == 1:
		m.happens("worker %d frozen", worker)
		m.at += m.span(10*time.Millisecond, 4*time.Second)
		m.happens("worker %d thawed", worker)
	case kind == 2:
		m.happens("worker %d split", worker)
	default:
		m.happens("worker %d joined", worker)
	}
}

// heal ends all faults.
func (m *maker) heal() {
	m.at = max(m.calm, m.at)
	m.line("length %s", m.at+quiet)
	m.happens("store back")
	m.happens("store 300us away")
	m.happens("abuser 0x")
	m.happens("streams 0/s lasting 1s")
	m.happens("load 0.3x")
	for worker := range m.workers {
		m.happens("worker %d joined", worker+1)
		if m.killed[worker+1] {
			m.happens("worker %d started", worker+1)
		}
	}
	m.line("expect from %s to %s cut-off <= 0", (m.at + 4*time.Second).Round(time.Second), (m.at + quiet).Truncate(time.Second))
}
