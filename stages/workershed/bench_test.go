package workershed

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

func BenchmarkTakeRelease(b *testing.B) {
	s := newStage(b, Config{}, NewState())
	r := &pipeline.Request{Now: s.state.clock.now()}
	result := pipeline.Result{At: r.Now + 1000}
	for b.Loop() {
		s.Release(r, s.Take(context.Background(), r).Permit, result)
	}
}

func BenchmarkTakeReleaseOwnClock(b *testing.B) {
	s := newStage(b, Config{}, NewState())
	r := &pipeline.Request{Now: s.state.clock.now()}
	for b.Loop() {
		s.Release(r, s.Take(context.Background(), r).Permit, pipeline.Result{})
	}
}

func BenchmarkTakeReleaseParallel(b *testing.B) {
	s := newStage(b, Config{}, NewState())
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		r := &pipeline.Request{Now: s.state.clock.now()}
		result := pipeline.Result{At: r.Now + 1000}
		for pb.Next() {
			s.Release(r, s.Take(context.Background(), r).Permit, result)
		}
	})
}

func BenchmarkLookPassing(b *testing.B) {
	s := newStage(b, Config{}, NewState())
	r := &pipeline.Request{}
	for b.Loop() {
		s.Look(r)
	}
}

func BenchmarkLookDropping(b *testing.B) {
	s := newStage(b, Config{}, NewState())
	s.state.Pin(1)
	r := &pipeline.Request{Class: priority.Low}
	for b.Loop() {
		s.Look(r)
	}
}

func BenchmarkLookHopeless(b *testing.B) {
	s := newStage(b, Config{MaxInFlight: 8}, NewState())
	r := &pipeline.Request{Now: s.state.clock.now()}
	s.state.outlook.service.Store(int64(time.Second))
	s.state.outlook.gap.Store(int64(time.Second))
	s.hold(b, priority.Critical, 8)
	for b.Loop() {
		s.Look(r)
	}
}

func BenchmarkTick(b *testing.B) {
	s := newStage(b, Config{}, NewState())
	now := s.state.clock.now()
	for b.Loop() {
		now += int64(100 * time.Millisecond)
		s.Tick(now)
	}
}
