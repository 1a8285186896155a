//go:build !race

package process

import (
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

const roomyFile = `version: 1
upstream: http://127.0.0.1:9
identity: {trusted_proxies: [127.0.0.0/8], caller: [trusted-header:X-Caller, address]}
stages:
  - stage: ratelimit
    limits: [{name: per-caller, key: [caller], rate: 1000000000/s, burst: 1000000000}]
  - stage: concurrency
    limits: [{name: slots, key: [caller], max: 100000}]
  - stage: fleetshed
  - stage: workershed
`

// underOverrides is a process in which n overrides hold, of all kinds that can
// be many, none of which concerns request.
func underOverrides(t testing.TB, n int) *Process {
	t.Helper()
	p, err := New(Config{Text: []byte(roomyFile)})
	if err != nil {
		t.Fatal(err)
	}
	var list []control.Override
	for i := range n {
		o := control.Override{ID: fmt.Sprint("ov-", i), ExpiresAt: time.Now().Add(time.Hour)}
		switch i % 4 {
		case 0:
			o.What, o.Percent, o.Scope = control.Shed, 1+i%100, control.Scope{Below: "high", Route: fmt.Sprintf("/route%d/", i)}
		case 1:
			o.What, o.Set, o.Scope = control.Caller, control.Block, control.Scope{Caller: fmt.Sprint("caller", i)}
		case 2:
			o.What, o.Set, o.Scope = control.Caller, control.Exempt, control.Scope{Caller: fmt.Sprint("caller", i)}
		default:
			o.What, o.Set, o.Value, o.Scope = control.Caller, control.Scale, 0.5, control.Scope{Caller: fmt.Sprint("caller", i)}
		}
		list = append(list, o)
	}
	if unmet, err := p.override(control.Compile(list, "")); err != nil || len(unmet) > 0 {
		t.Fatal(unmet, err)
	}
	return p
}

func pay() *pipeline.Request {
	return &pipeline.Request{
		Subject: match.Subject{Method: "POST", Path: "/pay"}, Class: priority.High,
		Caller: pipeline.Caller{ID: store.KeyOf("acme"), Name: "acme"},
	}
}

func (p *Process) decide(t testing.TB, q *pipeline.Request) {
	q.Now, q.Subject.Route = 0, match.Route{}
	if d := p.pipeline.Acquire(t.Context(), q); d.Verdict != pipeline.Admit {
		t.Fatal(d.Reason)
	}
	p.pipeline.Release(q, pipeline.Result{})
}

// 200 overrides allocate nothing on the path of a request.
func TestOverridesAllocateNothing(t *testing.T) {
	for _, n := range []int{0, 200} {
		p, q := underOverrides(t, n), pay()
		p.decide(t, q)
		if allocs := testing.AllocsPerRun(500, func() { p.decide(t, q) }); allocs != 0 {
			t.Errorf("%d overrides: %v allocations a request", n, allocs)
		}
	}
}

// BenchmarkOverrides is a request that no override concerns.
func BenchmarkOverrides(b *testing.B) {
	for _, n := range []int{0, 1, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, q := underOverrides(b, n), pay()
			for b.Loop() {
				p.decide(b, q)
			}
		})
	}
}

// BenchmarkApply is what it costs to make 200 overrides hold.
func BenchmarkApply(b *testing.B) {
	p := underOverrides(b, 200)
	e := p.effects
	for b.Loop() {
		if _, err := p.override(e); err != nil {
			b.Fatal(err)
		}
	}
}
