package sim

import (
	"strings"
	"testing"
)

// What cannot be read is said line by line, with what is allowed.
func TestParseNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := Parse("bad", `callers many
speed 9
5s meteor
5s store burning
5s worker 9 killed
40s load 1x
expect happiness >= 3
expect critical = 100%
length 30s
`)
	if err == nil {
		t.Fatal("it was read")
	}
	for _, want := range []string{
		`bad:1: callers: "many" is not a number`,
		`bad:2: unknown word "speed", allowed: a time such as 5s, expect, balancer, callers,`,
		`bad:3: unknown word "meteor", allowed: abuser, hang, load,`,
		`bad:4: store: unknown word "burning", allowed: back, empty,`,
		`bad:5: worker: "9" is not the number of a worker, 1 to 1`,
		`bad:7: expect: unknown measure "happiness", allowed: above, abuser,`,
		`bad:8: expect: want: [from T to T] [every second] measure >= value`,
		`bad: "40s load 1x" is after the end at 30s`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in:\n%v", want, err)
		}
	}
}

// What cannot be played, or could for ever, is said when it is read.
func TestParseRefusesWhatCannotBePlayed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"-1s load 1x":                "-1s is before the beginning",
		"0s load -1x":                `"-1x" is not a multiple such as 3x, up to 1000x`,
		"0s load NaNx":               `"NaNx" is not a multiple`,
		"0s load Infx":               `"Infx" is not a multiple`,
		"limit -4":                   `"-4" is not a number, 0 or more`,
		"slots -1 lease 1s":          `"-1" is not a number, 0 or more`,
		"reserve 200%":               `"200%" is not a percentage such as 20%, up to 100%`,
		"1s hang 300%":               `"300%" is not a percentage`,
		"1s service -5ms":            `"-5ms" is not a duration such as 10ms`,
		"store -1ms away":            `"-1ms" is not a duration`,
		"retries -1":                 `"-1" is not a number, 0 or more`,
		"1s streams -5/s lasting 1s": `"-5/s" is not a rate`,
		"mix critical 0% high 0% normal 0% low 0%":       "the shares must be 100% together, got 0%",
		"1s mix critical 20% high 20% normal 40% low 1%": "the shares must be 100% together, got 81%",
		"expect from 2s to 1s critical >= 1%":            "from 2s to 1s there is no second of a scenario of 2s",
		"expect from 1s to 1500ms critical >= 1%":        "there is no second",
		"expect from 1s to 3s critical >= 1%":            "there is no second of a scenario of 2s",
		"expect from -2s to 1s critical >= 1%":           `"-2s" is not a duration`,
	} {
		if _, err := Parse("odd", "length 2s\n"+line+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", line, want, err)
		}
	}
	if _, err := Parse("even", "length 2s\n1s store clock -1m\nexpect critical >= 101%\n"); err != nil {
		t.Error(err)
	}
}

// A broken invariant is told with the moment and what went before, and an
// expectation that is missed with its figure.
func TestAReportTellsWhatDidNotHold(t *testing.T) {
	t.Parallel()
	s, err := Parse("small", "length 2s\nservice 2 slots of 10ms\nlimit 4\n0s load 1x\nexpect critical >= 101%\n")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Play(s, 7)
	if err != nil {
		t.Fatal(err)
	}
	if r.Held() || r.Expected[0].Met {
		t.Error("more than all was met")
	}
	j := newJournal()
	j.note("something", 1, 2, 3)
	j.violate("rate", "too %s", "much")
	r.Violations, r.Broken = j.violations, j.broken
	for _, want := range []string{"small, seed 7", "MISSED  critical >= 101%", "BROKEN  rate at ", "too much (seed 7)", "something, worker 1 (2, 3)", "digest  "} {
		if table := r.Table(); !strings.Contains(table, want) {
			t.Errorf("want %q in:\n%s", want, table)
		}
	}
}

// Settings that nothing can be played with are refused.
func TestPlayRefusesSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"length 2s\nworkers 0":                           "workers must be 1 to 64",
		"length 2s\nservice 2 slots of 0s":               "service must be above 0",
		"length 2s\nslots 0 lease 1s":                    "maximum of 1 or more",
		"length 2s\nservice 0 slots of 1s":               "service must be of 1 slot or more",
		"length 2s\nservice 0 processors 1 pieces of 1s": "service must be of 1 slot or more",
	} {
		s, err := Parse("odd", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Play(s, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
}
