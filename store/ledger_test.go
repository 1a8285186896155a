package store

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/priority"
)

const beat = DefaultBeat

// used is the usage of a worker by class, low to critical.
func used(low, normal, high, critical float64) PerClass { return PerClass{low, normal, high, critical} }

// member is a worker as a ledger hears it.
type member struct {
	Report
	now *int64
}

// fleetOf makes workers of one clock, each with a capacity of 100 and a
// reserve of a fifth.
func fleetOf(n int) (fleet []*member, now *int64) {
	now = new(int64)
	*now = int64(time.Hour)
	for i := range n {
		fleet = append(fleet, &member{Report{Worker: fmt.Sprint("w", i), Epoch: 1, Beat: beat, Capacity: 100, Reserve: 0.2}, now})
	}
	return fleet, now
}

// beat reports, and keeps the lease.
func (m *member) beat(l *Ledger) View {
	m.Now = *m.now
	v := l.Sync(m.Report)
	m.Lease = v.Lease
	return v
}

// rounds lets everybody report n times, and returns the last views.
func rounds(l *Ledger, now *int64, fleet []*member, n int) (views []View) {
	for range n {
		views = views[:0]
		for _, m := range fleet {
			views = append(views, m.beat(l))
		}
		*now += int64(beat)
	}
	return views
}

func closeTo(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestALoneWorkerHasTheBudgetAtOnce(t *testing.T) {
	for _, declared := range []float64{0, 60} {
		var l Ledger
		fleet, now := fleetOf(1)
		fleet[0].Declared, fleet[0].InFlight = declared, used(0, 5, 0, 10)
		capacity := 100.0
		if declared > 0 {
			capacity = declared
		}
		for i := range 5 {
			v := fleet[0].beat(&l)
			if want := 0.8*capacity - 10; !closeTo(v.Lease, want) || v.Live != 1 || v.LowTrust {
				t.Fatalf("declared %v, beat %d: got %+v, want a lease of %v", declared, i, v, want)
			}
			if v.LeaseFor != 3*beat {
				t.Fatalf("a lease lasts %v", v.LeaseFor)
			}
			*now += int64(beat)
		}
	}
}

func TestNobodyKnowsTheCapacity(t *testing.T) {
	var l Ledger
	if v := l.Sync(Report{Worker: "w"}); v.Capacity != 0 {
		t.Errorf("capacity %v of a fleet whose only worker does not know its own", v.Capacity)
	}
}

func TestLeasesFollowDemand(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(4)
	fleet[0].Demanded, fleet[0].Capacity = used(0, 300, 0, 0), 150 // no more than it can do
	for _, m := range fleet[1:] {
		m.Demanded, m.Capacity = used(0, 20, 0, 0), 250.0/3
	}
	views := rounds(&l, now, fleet, 8)
	for i, want := range []float64{150, 170.0 / 3, 170.0 / 3, 170.0 / 3} {
		if !closeTo(views[i].Lease, want) {
			t.Errorf("worker %d has %v, want %v", i, views[i].Lease, want)
		}
	}
	if !closeTo(views[0].Capacity, 400) || views[0].Live != 4 || !closeTo(views[0].Demanded.Sum(), 360) {
		t.Errorf("the fleet is %+v", views[0])
	}
}

// TestANewcomerFindsRoom: what no worker can use is not leased.
func TestANewcomerFindsRoom(t *testing.T) {
	for _, declared := range []float64{0, 1000} {
		var l Ledger
		fleet, now := fleetOf(5)
		for _, m := range fleet {
			m.Declared, m.Demanded = declared, used(0, 60, 0, 0)
		}
		rounds(&l, now, fleet[:4], 8)
		if v := fleet[4].beat(&l); v.Lease < 60 {
			t.Errorf("declared %v: the fifth of five workers gets %v at first", declared, v.Lease)
		}
	}
}

func TestAnIdleWorkerHasRoomToStart(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(4)
	fleet[0].Declared = 250
	for _, m := range fleet[1:] {
		m.Demanded = used(0, 500, 0, 0)
	}
	views := rounds(&l, now, fleet, 8)
	if !closeTo(views[0].Lease, 5) { // a tenth of an even share of 200
		t.Errorf("the idle worker has a lease of %v", views[0].Lease)
	}
}

func TestCriticalUseLowersTheBudget(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(2)
	for _, m := range fleet {
		m.InFlight, m.Demanded = used(0, 0, 0, 50), used(0, 200, 0, 50)
	}
	views := rounds(&l, now, fleet, 8)
	if got := views[0].Lease + views[1].Lease; !closeTo(got, 0.8*200-100) {
		t.Errorf("leases sum to %v", got)
	}
}

func TestADeadWorkersLeaseLapses(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(2)
	for _, m := range fleet {
		m.Declared, m.Capacity, m.Demanded = 200, 300, used(0, 500, 0, 0)
	}
	rounds(&l, now, fleet, 8) // 80 each
	alone := fleet[:1]
	if v := rounds(&l, now, alone, 2)[0]; !closeTo(v.Lease, 80) || v.Live != 2 {
		t.Fatalf("while the other may be alive: %+v", v)
	}
	if v := rounds(&l, now, alone, 2)[0]; !closeTo(v.Lease, 160) || v.Live != 1 || v.Stale != 1 {
		t.Fatalf("after three beats of silence: %+v", v)
	}
	if v := rounds(&l, now, alone, 8)[0]; v.Stale != 0 {
		t.Errorf("after ten beats of silence: %+v", v)
	}
}

func TestDrainingKeepsUsageAndNoCapacity(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(2)
	for _, m := range fleet {
		m.InFlight, m.Demanded = used(0, 30, 0, 0), used(0, 30, 0, 0)
	}
	rounds(&l, now, fleet, 4)
	fleet[1].Draining = true
	views := rounds(&l, now, fleet, 4)
	v := views[0]
	if v.Capacity != 100 || v.Live != 1 || v.Drained != 1 || !closeTo(v.InFlight.Sum(), 60) || v.LowTrust {
		t.Errorf("with one of two draining the fleet is %+v", v)
	}
	if !closeTo(v.Lease, 80-30) || !closeTo(views[1].Lease, 30) {
		t.Errorf("leases are %v and %v of a budget of 80, 30 of it used by the one that drains", v.Lease, views[1].Lease)
	}
}

func TestWhoLeavesInOrderIsNotLost(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(3)
	rounds(&l, now, fleet, 4)
	fleet[1].Draining, fleet[2].Draining = true, true
	rounds(&l, now, fleet, 1)
	for i := range 15 {
		if v := rounds(&l, now, fleet[:1], 1)[0]; v.LowTrust || v.Capacity != 100 {
			t.Fatalf("%d beats after two of three left: %+v", i+1, v)
		}
	}
}

func TestManyWhoFallSilentAreCutOff(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(10)
	rounds(&l, now, fleet, 8)
	left := fleet[:3]
	v := rounds(&l, now, left, 6)[0]
	if v.Capacity != 500 || !v.LowTrust || v.Live != 3 || v.Stale != 7 {
		t.Errorf("with 7 of 10 silent: %+v", v)
	}
	if v = rounds(&l, now, left, 20)[0]; !v.LowTrust || v.Capacity < 490 || v.Stale != 0 {
		t.Errorf("with 7 of 10 forgotten: %+v", v)
	}
	if v = rounds(&l, now, fleet, 4)[0]; v.Capacity != 1000 || v.LowTrust {
		t.Errorf("with all back: %+v", v)
	}
	if v = rounds(&l, now, left, 7200)[0]; v.LowTrust || v.Capacity != 300 {
		t.Errorf("an hour after the 7 fell silent for good: %+v", v)
	}
}

func TestAFewWhoFallSilentAreDead(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(10)
	rounds(&l, now, fleet, 8)
	if v := rounds(&l, now, fleet[:6], 6)[0]; v.Capacity != 600 || v.LowTrust {
		t.Errorf("with 4 of 10 silent: %+v", v)
	}
}

func TestAYoungLedgerLetsAWorkerGoOn(t *testing.T) {
	fleet, now := fleetOf(4)
	fleet[0].Demanded, fleet[0].Capacity = used(0, 500, 0, 0), 200
	var old Ledger
	rounds(&old, now, fleet, 8)
	had := fleet[0].Lease
	if had <= 160 {
		t.Fatalf("the busy worker has %v", had)
	}
	var empty Ledger // the store came back without its memory
	for i := range 3 {
		v := fleet[0].beat(&empty)
		if !v.Learning || !closeTo(v.Lease, had) {
			t.Errorf("beat %d after the loss: %+v, want the lease of %v", i, v, had)
		}
		*now += int64(beat)
	}
	if v := fleet[0].beat(&empty); v.Learning || v.Lease > 160 {
		t.Errorf("three beats later nobody else was heard: %+v", v)
	}
}

func TestAYoungLedgerGivesANewWorkerItsOwnShare(t *testing.T) {
	var l Ledger
	fleet, _ := fleetOf(2)
	for _, m := range fleet {
		m.Declared = 1000
	}
	if v := fleet[0].beat(&l); !closeTo(v.Lease, 80) {
		t.Errorf("the first of a fleet of unknown size has %v", v.Lease)
	}
}

func TestARestartIsAnotherProcess(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(2)
	fleet[0].Demanded, fleet[1].Demanded = used(0, 500, 0, 0), used(0, 500, 0, 0)
	rounds(&l, now, fleet, 8)
	fleet[1].Epoch, fleet[1].Lease = 2, 0
	if v := fleet[1].beat(&l); v.Capacity != 200 || v.Live != 2 || !closeTo(v.Lease, 80) {
		t.Errorf("after a restart: %+v", v)
	}
}

func TestARestartBringsNoLease(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(1)
	fleet[0].Lease = 150
	if v := rounds(&l, now, fleet, 1)[0]; !closeTo(v.Lease, 150) {
		t.Fatalf("a young ledger gives %v", v.Lease)
	}
	fleet[0].Epoch, fleet[0].Lease = 2, 0
	if v := rounds(&l, now, fleet, 1)[0]; !v.Learning || !closeTo(v.Lease, 80) {
		t.Errorf("after a restart: %+v", v)
	}
}

func TestTheMostCarefulSettingsHold(t *testing.T) {
	var l Ledger
	fleet, now := fleetOf(2)
	fleet[0].Reserve, fleet[1].Reserve = 0.2, 0.5
	fleet[1].Declared = 120
	views := rounds(&l, now, fleet, 8)
	if got := views[0].Lease + views[1].Lease; !closeTo(got, 60) {
		t.Errorf("leases sum to %v", got)
	}
}

func TestTimeSteps(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour} {
		var l Ledger
		fleet, now := fleetOf(3)
		rounds(&l, now, fleet, 8)
		*now += int64(step)
		for i, v := range rounds(&l, now, fleet, 1) {
			if v.Live != 3 || v.Stale != 0 || v.LowTrust || !closeTo(v.Lease, 80) {
				t.Errorf("step %v, worker %d: %+v", step, i, v)
			}
		}
		alone := rounds(&l, now, fleet[:1], 6)[0]
		if alone.Live != 1 || alone.Stale != 2 {
			t.Errorf("step %v: time stands still after it: %+v", step, alone)
		}
	}
}

func TestTooManyWorkers(t *testing.T) {
	var l Ledger
	l.Sync(Report{Worker: "0", Capacity: 1})
	for i := 1; i < maxWorkers; i++ {
		l.workers = append(l.workers, &worker{report: sane(Report{Worker: fmt.Sprint(i), Capacity: 1})})
	}
	if v := l.Sync(Report{Worker: "one more", Capacity: 1}); v.Lease != 0 || !v.LowTrust || v.Live != maxWorkers {
		t.Errorf("one worker more than fit sees %+v", v)
	}
}

func TestNonsenseIsReckonedWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		any := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1}))
		for range rapid.IntRange(1, 10).Draw(t, "reports") {
			r := Report{
				Worker: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "worker"), Now: rapid.Int64().Draw(t, "now"),
				Beat: time.Duration(rapid.Int64().Draw(t, "beat")), Capacity: any.Draw(t, "capacity"),
				Reserve: any.Draw(t, "reserve"), Declared: any.Draw(t, "declared"), Lease: any.Draw(t, "lease"),
			}
			for i := range r.InFlight {
				r.InFlight[i], r.Demanded[i] = any.Draw(t, "used"), any.Draw(t, "demanded")
			}
			v := l.Sync(r)
			if math.IsNaN(v.Lease) || v.Lease < 0 || v.Lease > 1e10 || math.IsNaN(v.Capacity) || v.LeaseFor <= 0 {
				t.Fatalf("%+v gave %+v", r, v)
			}
		}
	})
}

// believer is a worker that goes by the last lease that reached it, until that
// ends by its own clock.
type believer struct {
	member
	until int64
}

func (b *believer) holds(now int64) float64 {
	if now >= b.until {
		return 0
	}
	return b.Lease
}

// TestLeasesStayWithinTheBudget plays a fleet in which answers are lost,
// workers pause, die, restart and drain, and settings and usage change: when a
// lease is granted, what everybody goes by fits the budget of that moment.
func TestLeasesStayWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		n := rapid.IntRange(1, 6).Draw(t, "workers")
		plain, now := fleetOf(n)
		fleet := make([]*believer, n)
		for i, m := range plain {
			fleet[i] = &believer{member: *m}
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			*now += rapid.Int64Range(0, int64(beat)/int64(n)*2).Draw(t, "pass")
			b := rapid.SampledFrom(fleet).Draw(t, "who")
			vary(t, b)
			b.Lease = b.holds(*now)
			b.Now = *now
			v := l.Sync(b.Report)
			others := 0.0
			for _, o := range fleet {
				if o != b {
					others += o.holds(*now)
				}
			}
			budget := max(0, (1-b.Reserve)*v.Capacity-v.InFlight[priority.Critical.Index()])
			if !v.Learning && v.Lease > 0 && v.Lease+others > budget+1e-6 {
				t.Fatalf("%s is granted %v beside %v of a budget of %v", b.Worker, v.Lease, others, budget)
			}
			if n == 1 && !b.Draining && !closeTo(v.Lease, min(budget, limitOf(&b.Report))) {
				t.Fatalf("the lone worker is granted %v of a budget of %v", v.Lease, budget)
			}
			if rapid.IntRange(0, 3).Draw(t, "lost") > 0 {
				b.Lease, b.until = v.Lease, *now+int64(v.LeaseFor)
			}
		}
	})
}

func vary(t *rapid.T, b *believer) {
	load := func() float64 { return rapid.Float64Range(0, 200).Draw(t, "load") }
	switch rapid.IntRange(0, 9).Draw(t, "change") {
	case 0:
		b.Draining = !b.Draining
	case 1: // restarts; the old process, and its lease, is gone
		b.Epoch++
		b.until, b.Draining = 0, false
	case 2:
		b.Capacity = load()
	default:
		b.InFlight = used(load(), load(), 0, load()/4)
		b.Demanded = b.InFlight
		b.Demanded[1] += load()
	}
}
