package insight

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// picky is a stage that refuses the callers of a name.
type picky struct{ caller string }

func (p picky) Look(r *pipeline.Request) pipeline.Decision {
	if r.Caller.Name != p.caller {
		return pipeline.Decision{}
	}
	r.Detail = pipeline.Detail{Rule: "per-caller", RetryAfter: time.Second}
	return pipeline.Refuse(pipeline.RateLimited)
}

// night is a pipeline that a recorder observes, and its clock.
type night struct {
	*Recorder
	pipeline *pipeline.Pipeline
	at       int64
}

func newNight(t testing.TB, mode pipeline.Mode) *night {
	t.Helper()
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "ratelimit", Stage: picky{"greedy"}, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	n := &night{at: int64(100 * time.Hour)}
	n.Recorder = New(Config{Now: func() int64 { return n.at }})
	if n.pipeline, err = pipeline.New(pipeline.Config{Plan: plan, Observer: n.Recorder}); err != nil {
		t.Fatal(err)
	}
	return n
}

// request is one of a caller, which may be refused, or run for a time.
func (n *night) request(ctx context.Context, q *pipeline.Request, ran time.Duration) store.ID {
	q.Now, q.Caller.ID = n.at, store.KeyOf(q.Caller.Name)
	if d := n.pipeline.Acquire(ctx, q); d.Verdict == pipeline.Admit {
		n.pipeline.Release(q, pipeline.Result{At: n.at + int64(ran)})
	}
	return q.ID()
}

func of(caller string, class priority.Class) *pipeline.Request {
	return &pipeline.Request{Caller: pipeline.Caller{Name: caller}, Class: class}
}

func TestWhatAShedWouldHaveRefused(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	for second := range 600 {
		n.at = int64(100*time.Hour) + int64(second)*int64(time.Second)
		for i := range 100 {
			q := of("acme", priority.Normal)
			switch {
			case i < 20:
				q = of("batch", priority.Low)
			case i < 30:
				q = of("greedy", priority.Normal)
			case i < 40:
				q = of("pay", priority.Critical)
			}
			q.Cohort = priority.Cohort(i * 13 % priority.Cohorts)
			n.request(t.Context(), q, time.Millisecond)
		}
	}
	a := n.Ask(Question{Refuses: Sheds(priority.High, 1, nil)})
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/20 {
			t.Errorf("%s: %.0f, want about %.0f", what, got, want)
		}
	}
	near("offered", a.Offered, 60_000)
	near("refused already", a.Refused, 6_000)
	near("would be refused", a.Would, 48_000)
	if a.Exact || a.Samples != 600*perSecond || len(a.Classes) != 3 || a.Classes[0].Name != "critical" || a.Classes[0].Would != 0 {
		t.Errorf("exact %t, %d samples, %+v", a.Exact, a.Samples, a.Classes)
	}
	if a.Callers[0].Name != "acme" || a.Callers[1].Name != "batch" || a.Callers[0].ID != store.KeyOf("acme").String() {
		t.Errorf("%+v", a.Callers)
	}
	near("half of low", n.Ask(Question{Refuses: Level(0.5)}).Would, 6_000)
	near("freed", n.Ask(Question{Admits: func(s *Sample) bool { return s.Rule == "per-caller" }}).Released, 6_000)
	near("one minute", n.Ask(Question{Window: time.Minute}).Offered, 6_000)
	acme := func(s *Sample) bool { return s.Caller.Name == "acme" }
	near("a limit of 10/s", n.Ask(Question{Rate: &RateQuestion{PerSecond: 10, Burst: 10, Concerns: acme}}).Would, 600*50)
	n.Fleet(store.View{Capacity: 100, InFlight: store.PerClass{40, 40, 0, 20}, Demanded: store.PerClass{40, 40, 0, 20}})
	reserve := n.Ask(Question{Reserve: &ReserveQuestion{Share: 0.4}, Window: time.Second})
	for _, c := range reserve.Classes { // 40 are left for others than critical: low gets nothing, normal all
		if want := map[string]float64{"low": 1}[c.Name]; c.Refused == 0 && c.Would != want*c.Offered {
			t.Errorf("%+v", c)
		}
	}
}

func TestFewRequestsAreExact(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	for range 5 {
		n.request(t.Context(), of("acme", priority.Low), 0)
	}
	if a := n.Ask(Question{Refuses: Sheds(priority.Normal, 1, nil)}); !a.Exact || a.Would != 5 || a.Offered != 5 {
		t.Errorf("%+v", a)
	}
	n.at += int64(Window + time.Second)
	if a := n.Ask(Question{}); a.Offered != 0 {
		t.Errorf("after the window: %+v", a)
	}
}

func TestDecisionsAreFound(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	q := of("greedy", priority.High)
	q.Subject = match.Subject{Method: "POST"}
	id := n.request(t.Context(), q, 0)
	if s, ok := n.Find(id); !ok || s.Reason != pipeline.RateLimited || s.Entry != "ratelimit" || s.Rule != "per-caller" || s.Method != "POST" || s.RetryAfter != time.Second {
		t.Errorf("%+v, %t", s, ok)
	}
	admitted := n.request(t.Context(), of("acme", priority.High), 0)
	if s, ok := n.Find(admitted); !ok || s.Verdict != pipeline.Admit {
		t.Errorf("%+v, %t", s, ok)
	}
	if _, ok := n.Find(store.ID{Hi: 1, Lo: 2}); ok {
		t.Error("an id that nobody has was found")
	}
	shadow := newNight(t, pipeline.Shadow)
	id = shadow.request(t.Context(), of("greedy", priority.High), 0)
	if s, ok := shadow.Find(id); !ok || !s.Shadow || s.Entry != "ratelimit" {
		t.Errorf("%+v, %t", s, ok)
	}
	if len(n.Refusals(10)) != 1 {
		t.Errorf("%+v", n.Refusals(10))
	}
}

// The heaviest callers are found among ten thousand, and what is told of them
// errs by no more than it says.
func TestTheHeaviestCallers(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	for i := range 10_000 {
		n.request(t.Context(), of(fmt.Sprint("small", i), priority.Normal), time.Millisecond)
		n.request(t.Context(), of("greedy", priority.Normal), 0)
		if i%10 == 0 {
			n.request(t.Context(), of("slow", priority.Normal), time.Second)
		}
	}
	refused, held := n.Callers(3)
	if len(refused) != 1 || refused[0].Name != "greedy" || refused[0].Refused != 10_000 || refused[0].Over != 0 {
		t.Errorf("%+v", refused)
	}
	if len(held) != 3 || held[0].Name != "slow" || held[0].Seconds-held[0].OverBy > 1000 || held[0].Seconds < 1000 {
		t.Errorf("%+v", held)
	}
	for _, h := range held[1:] { // each of the small ones held a millisecond
		if h.Seconds-h.OverBy > 0.0011 {
			t.Errorf("%+v", h)
		}
	}
	n.at += int64(sketchTerm) * 2
	n.request(t.Context(), of("new", priority.Normal), time.Second)
	if _, held := n.Callers(99); len(held) > 1+sketchPlaces*(sketchShards-1) {
		t.Errorf("%d callers", len(held))
	}
	n.at += int64(sketchTerm) * 2
	if refused, _ := n.Callers(3); len(refused) != 0 {
		t.Errorf("long after: %+v", refused)
	}
}

// The name of a caller that is a credential is kept nowhere.
func TestSecretsAreNotKept(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "ratelimit", Stage: picky{"sk_live_canary"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.pipeline.Swap(plan); err != nil {
		t.Fatal(err)
	}
	q := of("sk_live_canary", priority.Normal)
	q.Caller.Secret, q.Caller.Source = true, "X-Api-Key"
	id := n.request(t.Context(), q, 0)
	s, _ := n.Find(id)
	refused, _ := n.Callers(5)
	a := n.Ask(Question{})
	if s.Caller.Name != "" || len(refused) != 1 || refused[0].Name != "X-Api-Key:"+refused[0].ID[:8] || a.Callers[0].Name != refused[0].Name {
		t.Errorf("%+v %+v %+v", s.Caller, refused, a.Callers)
	}
}

func TestWastedWork(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	n.request(t.Context(), of("acme", 0), time.Second)
	late := of("acme", 0)
	late.Deadline = n.at + int64(time.Second)
	n.request(t.Context(), late, 2*time.Second)
	ctx, leave := context.WithCancel(t.Context())
	q := of("acme", 0)
	q.Now = n.at
	n.pipeline.Acquire(ctx, q)
	leave()
	n.pipeline.Release(q, pipeline.Result{At: n.at + int64(3*time.Second), Outcome: pipeline.Ignored})
	want := Work{Good: Tally{1, 1}, Late: Tally{1, 2}, Left: Tally{1, 3}}
	if got := n.Work(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestEvents(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	n.Note(Event{Kind: "control", What: "old"})
	n.at += int64(EventsFor)
	n.Note(Event{Kind: "store", What: "down"})
	list := n.Events(Event{At: n.at - 5, Kind: "level", What: "rises"})
	if len(list) != 3 || list[1].What != "rises" || list[2].What != "down" {
		t.Errorf("%+v", list)
	}
	n.at++
	if list := n.Events(); len(list) != 1 {
		t.Errorf("%+v", list)
	}
	for range 3 * maxEvents {
		n.Note(Event{})
	}
	if list := n.Events(); len(list) > maxEvents {
		t.Errorf("%d events", len(list))
	}
}

// BenchmarkDecided is what a recorder adds to a decision and its end.
func BenchmarkDecided(b *testing.B) {
	for name, caller := range map[string]string{"admitted": "acme", "refused": "greedy"} {
		b.Run(name, func(b *testing.B) {
			n := newNight(b, pipeline.Enforce)
			q := of(caller, priority.Normal)
			d := n.pipeline.Acquire(b.Context(), q)
			b.ReportAllocs()
			for b.Loop() {
				n.Decided(q, d)
				if d.Verdict == pipeline.Admit {
					n.Released(q, pipeline.Result{At: n.at + 1e6})
				}
			}
		})
	}
}
