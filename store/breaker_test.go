package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var errStore = errors.New("broken")

// TestTheWindow counts against a plain list of calls.
func TestTheWindow(t *testing.T) {
	const slot = int64(windowFor / windowSlots)
	rapid.Check(t, func(t *rapid.T) {
		var w window
		type made struct {
			slot   int64
			failed int
		}
		var list []made
		now := rapid.Int64Range(0, int64(3*windowFor)).Draw(t, "start")
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			now += rapid.SampledFrom([]int64{0, 1, slot / 2, slot, 5 * slot, int64(windowFor)}).Draw(t, "pass")
			failed := rapid.IntRange(0, 1).Draw(t, "failed")
			w.add(now, failed)
			list = append(list, made{now / slot, failed})
		}
		now += rapid.Int64Range(0, int64(windowFor)).Draw(t, "then")
		enough := rapid.SampledFrom([]int{1, 5, 20, all}).Draw(t, "enough")
		wantCalls, wantFailed := 0, 0
		for back := range int64(windowSlots) {
			if back > 1 && wantCalls >= enough {
				break
			}
			for _, m := range list {
				if m.slot == now/slot-back {
					wantCalls, wantFailed = wantCalls+1, wantFailed+m.failed
				}
			}
		}
		if calls, failed := w.sum(now, enough); calls != wantCalls || failed != wantFailed {
			t.Fatalf("%d of %d failed, want %d of %d", failed, calls, wantFailed, wantCalls)
		}
	})
}

func TestItTakesManyFailuresToOpen(t *testing.T) {
	for _, c := range []struct {
		name    string
		good    int
		failed  int
		between time.Duration
		want    State
	}{
		{"nineteen", 0, 19, time.Millisecond, OK},
		{"twenty", 0, 20, time.Millisecond, Down},
		{"half of twenty", 10, 10, time.Millisecond, Down},
		{"less than half", 11, 9, time.Millisecond, Degraded},
		{"a tenth", 18, 2, time.Millisecond, Degraded},
		{"less than a tenth", 99, 8, time.Millisecond, OK},
		{"twenty in more than a second", 0, 20, 60 * time.Millisecond, OK},
		{"at once after a good second", 1000, 40, time.Millisecond, Down},
		{"for a moment in much traffic", 1000, 100, 10 * time.Microsecond, OK},
	} {
		var h health
		now := int64(time.Hour)
		for i := range c.good + c.failed {
			now += int64(c.between)
			var err error
			if i >= c.good {
				err = errStore
			}
			h.called(now, err)
		}
		if h.state != c.want {
			t.Errorf("%s: %s, want %s", c.name, h.state, c.want)
		}
	}
}

func TestAServersOwnWordIsBelievedSooner(t *testing.T) {
	unfit := fmt.Errorf("store: %w", ErrUnable)
	for _, c := range []struct {
		name string
		ends []error
		want State
	}{
		{"twice", []error{unfit, unfit}, OK},
		{"three times", []error{unfit, unfit, unfit}, Down},
		{"another node answers between", []error{unfit, unfit, nil, unfit, unfit}, OK},
		{"late calls between", []error{unfit, errLate, unfit, errLate, unfit}, Down},
		{"late calls alone", []error{errLate, errLate, errLate, errLate, errLate}, OK},
	} {
		var h health
		for i, err := range c.ends {
			h.called(int64(time.Hour)+int64(i), err)
		}
		if h.state != c.want {
			t.Errorf("%s: %s, want %s", c.name, h.state, c.want)
		}
	}
}

// TestProbesComeWhenTheyTell: seldom when the store has been down for a while,
// soon when it is back.
func TestProbesComeWhenTheyTell(t *testing.T) {
	var h health
	for i, c := range []struct {
		err  error
		want time.Duration
	}{
		{errStore, probeEvery},
		{errStore, probeRarely},
		{errStore, probeRarely},
		{nil, probeAgain},
		{errStore, probeEvery},
		{nil, probeAgain},
		{nil, probeAgain},
		{nil, probeEvery}, // it is let in
	} {
		if i == 0 {
			h.down()
		}
		if h.probed(1, c.err); h.pause() != c.want {
			t.Errorf("%s after probe %d, want %s", h.pause(), i, c.want)
		}
	}
}

func TestOnlyProbesClose(t *testing.T) {
	var h health
	h.down()
	now := int64(time.Hour)
	for range 1000 {
		h.called(now, nil)
	}
	for i, err := range []error{nil, nil, errStore, nil, nil} {
		if h.probed(now, err); h.state != Down {
			t.Fatalf("%s after probe %d", h.state, i)
		}
	}
	if h.probed(now, nil); h.state != Degraded || h.ramp == 0 {
		t.Fatalf("%s after three good ones in a row", h.state)
	}
	for range enoughRamping {
		h.called(now, errStore)
	}
	if h.state != Down || h.ramp != 0 {
		t.Errorf("%s when the first calls fail again", h.state)
	}
}

func TestProbesOpenToo(t *testing.T) {
	var h health
	for i := range badProbes {
		if h.state != OK {
			t.Fatalf("%s after %d bad probes", h.state, i)
		}
		h.probed(1, errStore)
	}
	if h.state != Down || !errors.Is(h.cause, errStore) {
		t.Errorf("%s because of %v", h.state, h.cause)
	}
}

func TestTheRamp(t *testing.T) {
	for since, want := range map[time.Duration]float64{0: 0.1, rampFor / 2: 0.55, rampFor: 1, time.Hour: 1} {
		if got := rampShare(since); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%v after they were let back in, %v of the calls are made, want %v", since, got, want)
		}
	}
	var h health
	h.down()
	for range goodProbes {
		h.probed(0, nil)
	}
	for now := int64(0); now < int64(rampFor); now += int64(rampFor / 10) {
		if h.called(now, nil); h.state != Degraded {
			t.Errorf("%s on the ramp", h.state)
		}
	}
	if h.called(int64(rampFor)+1, nil); h.state != OK || h.ramp != 0 {
		t.Errorf("%s after it", h.state)
	}
	b := newBreaker(rand.Float64)
	b.update(func(h *health) { h.state, h.ramp = Degraded, 1 })
	made := 0
	for range 10_000 {
		if b.admits(1) {
			made++
		}
	}
	if made < 500 || made > 2000 {
		t.Errorf("%d of 10000 calls are made at first", made)
	}
}

// TestHealthStories plays any calls and probes: what opened it is there to be
// seen, and so is what closed it.
func TestHealthStories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h health
		now, failures, good, bad := int64(1), 0, 0, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(30*time.Millisecond)).Draw(t, "pass")
			err := error(nil)
			if rapid.Bool().Draw(t, "fails") {
				err = errStore
			}
			before := h.state
			if rapid.IntRange(0, 4).Draw(t, "probe") == 0 {
				if good, bad = good+1, bad+1; err != nil {
					good = 0
				} else {
					bad = 0
				}
				h.probed(now, err)
			} else {
				if err != nil {
					failures++
				}
				h.called(now, err)
			}
			switch {
			case before != Down && h.state == Down:
				if failures < enoughRamping/2 && bad < badProbes {
					t.Fatalf("opened after %d failures and %d bad probes", failures, bad)
				}
				good, bad, failures = 0, 0, 0
			case before == Down && h.state != Down:
				if good < goodProbes || h.state != Degraded {
					t.Fatalf("%s after %d good probes", h.state, good)
				}
				failures = 0
			}
			if h.state != OK && h.cause == nil {
				t.Fatalf("%s for no reason", h.state)
			}
		}
	})
}

// A few failures are no trouble until the successes around them are old: what
// is then told is still why.
func TestTroubleThatShowsLaterHasItsCause(t *testing.T) {
	var h health
	call := func(now time.Duration, n int, err error) {
		for range n {
			h.called(int64(now), err)
		}
	}
	call(1, 100, nil)
	call(600*time.Millisecond, 4, errStore)
	if h.state != OK {
		t.Fatalf("%s after 4 failures of 104", h.state)
	}
	call(1300*time.Millisecond, 20, nil)
	h.judge(int64(1300 * time.Millisecond))
	if h.state != Degraded || !errors.Is(h.cause, errStore) {
		t.Errorf("%s because of %v", h.state, h.cause)
	}
}
