package overrides

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/pipeline/stagetest"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

func made(t testing.TB, c Config) *Stage {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(s *Stage, path string, class priority.Class, cohort priority.Cohort, caller string) string {
	r := &pipeline.Request{
		Subject: match.Subject{Path: path}, Class: class, Cohort: cohort,
		Caller: pipeline.Caller{Name: caller, ID: store.KeyOf(caller)},
	}
	if d := s.Look(r); d.Verdict != pipeline.Admit {
		return d.Reason.String() + " " + r.Detail.Rule
	}
	return ""
}

func TestConformance(t *testing.T) {
	stagetest.Run(t, func(t *testing.T) stagetest.Subject {
		return stagetest.Subject{
			Stage:   made(t, Config{Sheds: []Shed{{Rule: "ov-1", Below: priority.High, Percent: 100}}}),
			Request: func() *pipeline.Request { return &pipeline.Request{Subject: match.Subject{Path: "/"}} },
		}
	})
}

func TestSheds(t *testing.T) {
	s := made(t, Config{Sheds: []Shed{
		{Rule: "half", Below: priority.High, Percent: 50},
		{Rule: "search", Route: "/search/", Below: priority.Critical, Percent: 100},
		{Rule: "little", Below: priority.Critical, Percent: 1},
	}})
	for _, c := range []struct {
		path   string
		class  priority.Class
		cohort priority.Cohort
		want   string
	}{
		{"/", priority.Low, 0, "operator-shed half"},
		{"/", priority.Normal, 63, "operator-shed half"},
		{"/", priority.Normal, 64, ""},
		{"/", priority.High, 1, "operator-shed little"},
		{"/", priority.High, 2, ""},
		{"/", priority.Critical, 0, ""},
		{"/search/a", priority.High, 127, "operator-shed search"},
		{"/search/a", priority.Low, 127, "operator-shed search"},
		{"/search/a", priority.Critical, 0, ""},
	} {
		if got := ask(s, c.path, c.class, c.cohort, "acme"); got != c.want {
			t.Errorf("%s %v %d: %q, want %q", c.path, c.class, c.cohort, got, c.want)
		}
	}
}

// A percentage means the same callers as everywhere else.
func TestPercentIsCohortsShed(t *testing.T) {
	for percent := 1; percent <= 100; percent++ {
		s := made(t, Config{Sheds: []Shed{{Below: priority.High, Percent: percent}}})
		for cohort := range priority.Cohort(priority.Cohorts) {
			if got, want := ask(s, "/", priority.Low, cohort, "") != "", cohort.Shed(float64(percent)/100); got != want {
				t.Fatalf("%d %%: cohort %d: %t, want %t", percent, cohort, got, want)
			}
		}
	}
}

func TestCallers(t *testing.T) {
	byKey := "id:" + store.KeyOf("secret").String()
	s := made(t, Config{
		Sheds:  []Shed{{Rule: "all", Below: priority.Critical, Percent: 100}},
		Blocks: []Block{{"b1", "flood"}, {"b2", byKey}, {"b3", "both"}},
		Exempt: []string{"friend", "both", byKey},
	})
	for caller, want := range map[string]string{
		"flood": "caller-blocked b1", "secret": "caller-blocked b2", "both": "caller-blocked b3", "friend": "", "other": "operator-shed all",
	} {
		if got := ask(s, "/", priority.Normal, 5, caller); got != want {
			t.Errorf("%s: %q, want %q", caller, got, want)
		}
	}
	if got := ask(s, "/", priority.Critical, 5, "flood"); got != "caller-blocked b1" {
		t.Errorf("critical traffic of a blocked caller: %q", got)
	}
}

func TestFaults(t *testing.T) {
	for want, c := range map[string]Config{
		"sheds[0]: overrides: percent must be 1 … 100, got 0": {Sheds: []Shed{{Below: priority.High}}},
		"there is nothing below low":                          {Sheds: []Shed{{Below: priority.Low, Percent: 1}}},
		"is not in the table":                                 {Table: &match.Table{}, Sheds: []Shed{{Route: "/x", Below: priority.High, Percent: 1}}},
		"blocks[0]: overrides: caller \"id:x\"":               {Blocks: []Block{{Caller: "id:x"}}},
		"exempt[0]: overrides: a caller needs a name":         {Exempt: []string{""}},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// BenchmarkLook is a request that no override concerns, under more and more.
func BenchmarkLook(b *testing.B) {
	for _, n := range []int{1, 10, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := made(b, many(n))
			r := &pipeline.Request{Subject: match.Subject{Path: "/pay"}, Caller: pipeline.Caller{Name: "acme", ID: store.KeyOf("acme")}, Class: priority.Critical}
			for b.Loop() {
				s.Look(r)
			}
		})
	}
}

// many is overrides of all kinds.
func many(n int) (c Config) {
	for i := range n {
		switch i % 3 {
		case 0:
			c.Sheds = append(c.Sheds, Shed{Rule: fmt.Sprint("s", i), Route: fmt.Sprintf("/r%d/", i), Below: priority.High, Percent: 1 + i%100})
		case 1:
			c.Blocks = append(c.Blocks, Block{fmt.Sprint("b", i), fmt.Sprint("caller", i)})
		default:
			c.Exempt = append(c.Exempt, fmt.Sprint("caller", i))
		}
	}
	return c
}
