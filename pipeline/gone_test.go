package pipeline

import (
	"context"
	"testing"
)

// A client that leaves is seen while its request runs, and at its end.
func TestGone(t *testing.T) {
	plan, err := NewPlan()
	if err != nil {
		t.Fatal(err)
	}
	seen := &lastGone{}
	p, err := New(Config{Plan: plan, Observer: seen})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	r := &Request{}
	p.Acquire(ctx, r)
	if h := p.Holders(1); r.Gone() || len(h) != 1 || h[0].Gone {
		t.Errorf("gone before it left: %+v", h)
	}
	leave()
	if h := p.Holders(1); !r.Gone() || len(h) != 1 || !h[0].Gone {
		t.Errorf("not gone: %+v", h)
	}
	p.Release(r, Result{})
	if !seen.gone || r.Gone() {
		t.Errorf("at the release %t, later %t", seen.gone, r.Gone())
	}
}

type lastGone struct {
	nobody
	gone bool
}

func (l *lastGone) Released(r *Request, _ Result) { l.gone = r.Gone() }
