package workershed

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

func TestZeroConfigIsTheDefault(t *testing.T) {
	s := newStage(t, Config{}, NewState())
	got := []any{s.maxInFlight, s.shares, s.maxWait, s.queuePerClass, s.adapts, s.ramps, s.ramp, s.maxStreams, s.exemptMax}
	want := []any{
		200, shares{5000, 6500, 8000, 10000}, 40 * time.Millisecond, 64, true, true,
		ramp{120 * time.Second, 120 * time.Second, 28 * time.Second, 8 * time.Second}, 2000, 10,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("default %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestRampDownFollowsRampUp(t *testing.T) {
	s := newStage(t, Config{Ramp: Fast, RampUp: time.Minute}, NewState())
	if s.ramp.up != time.Minute || s.ramp.down != time.Minute || s.ramp.hold != 3*time.Second {
		t.Errorf("the ramp is %+v", s.ramp)
	}
}

// One configuration with everything wrong: every fault is named at once.
func TestEveryFaultIsNamed(t *testing.T) {
	_, err := New(Config{
		MaxInFlight: -1, ClassShare: [priority.Count]float64{0.5, 0.4, 7, 0.9}, MaxWait: time.Minute, QueuePerClass: -2,
		Adaptive: "cpu", Ramp: "slow", RampUp: time.Minute, RampDown: time.Second, MaxStreams: -1, ExemptMax: 5000,
	}, NewState())
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"max_in_flight: must be from 1 to 16384, got -1",
		"class_share: normal must not be below low",
		"class_share: high must be from 0 to 1, got 7",
		"class_share: critical must not be below high",
		"class_share: critical must be 1",
		"max_wait: must be from 1ns to 10s, got 1m0s",
		"queue_per_class: must be from 1 to 100000, got -2",
		`adaptive: unknown word "cpu", allowed: run-queue, fixed`,
		`ramp: unknown word "slow", allowed: stripe, fast, off`,
		"ramp_down: must not be below ramp_up (1m0s), got 1s",
		"max_streams: must be from 1 to 1000000, got -1",
		"exempt_max: must be from 1 to 1000, got 5000",
	} {
		if !strings.Contains(err.Error(), "workershed: "+want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestShareThatIsNoNumberIsRefused(t *testing.T) {
	for _, share := range []float64{math.NaN(), math.Inf(1), -0.1} {
		if _, err := New(Config{ClassShare: [priority.Count]float64{share, 1, 1, 1}}, NewState()); err == nil {
			t.Errorf("a share of %v is accepted", share)
		}
	}
}
