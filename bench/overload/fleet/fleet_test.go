package fleet

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// TestMain is a worker, when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		flags := flag.NewFlagSet("worker", flag.ExitOnError)
		redis := flags.String("redis", "", "")
		takes := flags.Duration("service", service, "")
		flags.Parse(os.Args[2:])
		if err := Work(context.Background(), *redis, *takes, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Everything that happens in the incident happens here too, with a moment for
// each: real workers, a real Redis, and what every machine, however busy, must
// show.
func TestTheIncidentInBrief(t *testing.T) {
	steps := incident()
	for i := range steps {
		steps[i].Last = 700 * time.Millisecond
	}
	r, err := run(t.Context(), steps, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) != len(steps) || len(r.Seconds) < len(steps) || len(r.Samples) < len(steps) {
		t.Fatalf("%d steps, %d seconds, %d samples", len(r.Steps), len(r.Seconds), len(r.Samples))
	}
	served := 0.0
	for _, s := range r.Steps {
		served += s.Goodput
	}
	if served <= 0 {
		t.Error("nothing was served")
	}
	if r.Calls <= 0 || r.Calls > 0.1 {
		t.Errorf("%v commands of Redis for each request", r.Calls)
	}
	least, most := size, 0
	for _, s := range r.Samples {
		least, most = min(least, s.Running), max(most, s.Running)
	}
	if least > size-2 || most != size {
		t.Errorf("between %d and %d workers ran", least, most)
	}
	page := r.Markdown()
	chart := r.Chart()
	if !strings.Contains(page, "| Redis paused | 1 |") || !strings.Contains(chart.SVG(), ">one worker frozen<") {
		t.Errorf("the page is\n%s", page)
	}
}

func TestAFleetWithoutItsProgramDoesNotStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx); err == nil || r != nil {
		t.Errorf("%v, %v", r, err)
	}
}

func TestOnlyWhatWorkersSendIsCounted(t *testing.T) {
	const stats = "# Commandstats\r\ncmdstat_evalsha:calls=30,usec=1\r\ncmdstat_hget:calls=90,usec=1\r\ncmdstat_info:calls=5,usec=1\r\ncmdstat_script|load:calls=2,usec=1\r\ncmdstat_ping:calls=1,usec=1\r\n"
	if got := sent(stats); got != 33 {
		t.Errorf("%d calls", got)
	}
}

func TestWhatIsAboveTheReserve(t *testing.T) {
	for _, c := range []struct {
		sample Sample
		want   float64
	}{
		{Sample{Room: 80, Critical: 10, Others: 54}, 0},
		{Sample{Room: 80, Critical: 10, Others: 57}, 3},
		{Sample{Room: 60, Critical: 0, Others: 50}, 2},
		{Sample{}, 0},
	} {
		if got := c.sample.Above(); got != c.want {
			t.Errorf("%+v: %v above, want %v", c.sample, got, c.want)
		}
	}
}

func TestAStepSaysWhenTheFiguresWereRight(t *testing.T) {
	var cells load.Cells
	cells[priority.Critical.Index()] = load.Cell{Offered: 10, Good: 8, Failed: 1, Refused: map[load.Refusal]int{{Stage: "workershed"}: 1}}
	cells[priority.Low.Index()] = load.Cell{Offered: 10, Refused: map[load.Refusal]int{{Stage: "fleetshed"}: 10}}
	samples := []Sample{{At: 5, Room: 60, Known: 80}, {At: 5.5, Room: 60, Known: 60}, {At: 6, Room: 60, Known: 80}, {At: 6.5, Room: 60, Known: 62, Others: 50}}
	s := newStep("x", cells, samples)
	if s.Critical != 0.8 || s.Refused != 0.1 || s.ByFleet != 0.5 || s.ByWorker != 0.05 || s.Right != 1.5 || s.MostAbove != 2 {
		t.Errorf("%+v", s)
	}
	samples[3].Known = 80
	if s := newStep("x", cells, samples); s.Right != -1 {
		t.Errorf("wrong figures are right after %v", s.Right)
	}
}

func TestABalancerSpreadsWhatADownOneWouldHaveHad(t *testing.T) {
	c := &crew{}
	for i := range size {
		c.members[i].Store(&member{})
	}
	if m := c.pick(3); m != c.members[3].Load() {
		t.Error("with all of them down, the one whose turn it is")
	}
	got := map[*member]int{}
	for i := 2; i < size; i++ {
		c.members[i].Load().up.Store(true)
	}
	for n := range uint64(6 * size) {
		got[c.pick(n)]++
	}
	for i := range size {
		if n, want := got[c.members[i].Load()], map[bool]int{false: size, true: 0}[i < 2]; n != want {
			t.Errorf("worker %d got %d requests, want %d", i, n, want)
		}
	}
}

func TestAFleetOfTwoSpeeds(t *testing.T) {
	steps := mixed()
	for i := range steps {
		steps[i].Last = 700 * time.Millisecond
	}
	r, err := run(t.Context(), steps, size/2)
	if err != nil {
		t.Fatal(err)
	}
	if want := 4*slots/service.Seconds() + 4*slots/(2*service.Seconds()); r.Able != want || r.Slow != 4 {
		t.Errorf("it can do %v, want %v; %d are slow", r.Able, want, r.Slow)
	}
	calm := r.Steps[0].Fate
	if calm.Slow.All == 0 || calm.Fast.All == 0 || calm.Slow.Good == 0 || calm.Slow.CriticalGood > calm.Slow.Critical {
		t.Errorf("by speed: %+v", calm)
	}
	chart := r.Chart()
	if page := r.Markdown(); !strings.Contains(page, "| three times too much | slow |") || !strings.Contains(chart.Title, "half as fast") {
		t.Errorf("the page is\n%s", page)
	}
}

func TestFatesTellWhoWentDownWithAWorker(t *testing.T) {
	var f fates
	running, down := &member{slow: true}, &member{}
	running.running.Store(true)
	call := load.Arrival{Class: priority.Critical, Phase: 1}
	f.note(call, running, true, load.Answer{})
	f.note(call, running, true, load.Answer{Outcome: load.Refused, Refusal: load.Refusal{Stage: "workershed"}})
	f.note(call, running, true, load.Answer{Outcome: load.GaveUp})
	f.note(call, down, true, load.Answer{Outcome: load.Failed})
	f.note(call, down, false, load.Answer{Outcome: load.GaveUp})
	f.note(load.Arrival{Class: priority.Low, Phase: 1}, down, false, load.Answer{Outcome: load.GaveUp})
	got := f.of(1)
	want := fate{WentDown: 1, SentDown: 1, Late: 1, Slow: counts{All: 3, Good: 1, Critical: 3, CriticalGood: 1, ByWorker: 1}, Fast: counts{All: 3, Critical: 2}}
	if got != want || f.of(0) != (fate{}) || f.of(7) != (fate{}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
