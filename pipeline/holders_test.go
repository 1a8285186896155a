package pipeline_test

import (
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// fill sets whatever it reaches to something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("used")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		switch {
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		}
	}
}

func TestResetLeavesNothingOfTheLastUse(t *testing.T) {
	r := &pipeline.Request{}
	fill(reflect.ValueOf(r).Elem())
	p := build(t, nil, nil)
	p.Acquire(t.Context(), r)
	p.Detach(t.Context(), r)
	p.Release(r, pipeline.Result{})
	fill(reflect.ValueOf(r).Elem())
	r.Reset()
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
			t.Errorf("%s is %v", f.Name, v.Field(i))
		}
	}
	if e := r.Entry(pipeline.Decision{}); r.Detached() || e.Name != "" {
		t.Errorf("detached %v, entry %+v", r.Detached(), e)
	}
}

// A request may be used with one pipeline and then with another, and is in
// flight in the one that admitted it last.
func TestARequestIsInFlightInOnePipeline(t *testing.T) {
	first, second := build(t, nil, nil), build(t, nil, nil)
	r := &pipeline.Request{}
	for range 3 {
		for _, p := range []*pipeline.Pipeline{first, second} {
			p.Acquire(t.Context(), r)
			if p.InFlight() != 1 || len(p.Holders(9)) != 1 || first.InFlight()+second.InFlight() != 1 {
				t.Fatalf("in flight: %d and %d", first.InFlight(), second.InFlight())
			}
			p.Release(r, pipeline.Result{})
		}
	}
	if first.InFlight()+second.InFlight() != 0 {
		t.Error("in flight although it was released")
	}
}

// A server without a pool makes a request for each it serves.
func TestRequestsThatAreGoneAreForgotten(t *testing.T) {
	p := build(t, nil, nil)
	for range 100 {
		for range 100 {
			r := &pipeline.Request{}
			p.Acquire(t.Context(), r)
			p.Release(r, pipeline.Result{})
		}
		runtime.GC()
	}
	if n := p.Listed(); n > 1000 {
		t.Errorf("%d of 10,000 requests are listed, all of which are gone", n)
	}
}

// Whoever reads what is in flight sees it whole, and keeps nobody from its end.
func TestHoldersAreReadWhileTheyComeAndGo(t *testing.T) {
	p := build(t, newCounts(&trace{}), nil,
		pipeline.Entry{Name: "slots", Stage: &sharer{looker{}, claimOf(slots(t, "slots"))}})
	var group sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		group.Go(func() {
			r := &pipeline.Request{}
			for range 500 {
				r.Reset()
				r.Caller.Name = "somebody"
				p.Acquire(t.Context(), r)
				p.Detach(t.Context(), r)
				p.Release(r, pipeline.Result{})
			}
		})
	}
	go func() { group.Wait(); close(done) }()
	for {
		for _, h := range p.Holders(9) {
			if h.Caller != "somebody" {
				t.Fatalf("read %+v", h)
			}
		}
		p.SlotsHeld()
		select {
		case <-done:
			if p.InFlight() != 0 {
				t.Errorf("%d in flight", p.InFlight())
			}
			return
		default:
		}
	}
}
