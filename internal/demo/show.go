package demo

import (
	"fmt"
	"strings"

	"github.com/plimsoll-go/plimsoll/examples/payments/service"
	"github.com/plimsoll-go/plimsoll/priority"
)

// show is what is to be seen: the acts so far, the last of which runs.
type show struct {
	config  Config
	service *service.Service
	acts    []*act
}

// display shows a show. Its methods are called by one goroutine.
type display interface {
	// frame is called several times a second while an act runs.
	frame(*show)
	// end is called once, with the last lines.
	end(*show, []string)
}

func (s *show) current() *act { return s.acts[len(s.acts)-1] }

// heading says what is demonstrated.
func (s *show) heading() []string {
	c := s.config.Colour
	lines := []string{
		c.ink(bold, "Plimsoll") + fmt.Sprintf(" before a payments service: %d connections, %v a query: %s/s",
			s.service.Connections(), s.service.Query(), thousands(s.service.Capacity())),
		c.ink(faint, fmt.Sprintf("answers count for %v from the planned moment of sending; seed %d", s.config.pace.deadline(), s.config.Seed)),
		c.ink(faint, "charges critical, refunds high, reads normal, tests low; two callers are greedy"),
	}
	if p := s.config.pace; p > usual {
		lines = append(lines, c.ink(yellow, fmt.Sprintf("This machine is busy: everything goes %d times slower than usual.", p)))
	}
	return lines
}

// scene is the line above the table: what the current act does.
func (s *show) scene() string {
	a := s.current()
	elapsed := min(a.elapsed(), a.plan.Length())
	return s.title(a, a.phase()) + fmt.Sprintf("   %s of %s", seconds(elapsed), seconds(a.plan.Length()))
}

// title names an act and one of its phases.
func (s *show) title(a *act, phase int) string {
	text := s.config.Colour.ink(bold, a.name) + fmt.Sprintf("   %s the capacity = %s/s",
		times(a.plan.Phases[phase].Multiple), thousands(a.plan.Rate(phase)))
	if all := &a.so(phase).all; all.Failed+all.Unsent > 0 {
		text += s.config.Colour.ink(red, fmt.Sprintf("   %d failed, %d not sent", all.Failed, all.Unsent))
	}
	return text
}

// summary is what is left to read at the end.
func (s *show) summary(v *Verdict) []string {
	return append(append(s.scorecard(), ""), s.verdict(v)...)
}

// scorecard sets the acts beside each other, at the height and after it.
func (s *show) scorecard() []string {
	c, first := s.config.Colour, s.acts[0]
	line := func(what string, figure func(*act) string) string {
		text := pad(what, 44)
		for _, a := range s.acts {
			text += pad(figure(a), -18)
		}
		return text
	}
	lines := []string{
		line(fmt.Sprintf("At %s the capacity", times(first.plan.Phases[height].Multiple)), func(a *act) string { return c.ink(bold, a.name) }),
	}
	for i, class := range mostImportantFirst {
		what := "  " + class.String()
		if i == 0 {
			what += ", answered in time"
		}
		lines = append(lines, line(what, func(a *act) string { return s.share(a.so(height), class) }))
	}
	return append(lines,
		line("  useful answers a second", func(a *act) string { t := a.so(height); return count(t.rate(t.all.Good)) }),
		line("  p99 of critical", func(a *act) string { return millis(a.so(height).class(priority.Critical).Latency.Quantile(0.99)) }),
		line(fmt.Sprintf("Back at %s, all classes in time", times(calm)), func(a *act) string {
			t := a.so(after)
			return c.ink(ofShare(t.all.GoodShare()), percent(t.all.GoodShare()))
		}),
	)
}

func (s *show) share(t *tally, class priority.Class) string {
	share := t.class(class).GoodShare()
	return s.config.Colour.ink(ofShare(share), percent(share))
}

// verdict says in plain words what was claimed and what was seen.
func (s *show) verdict(v *Verdict) []string {
	c := s.config.Colour
	lines := []string{c.ink(bold, "Verdict")}
	for _, claim := range v.Claims {
		mark := c.ink(green, "✓")
		if !claim.Held {
			mark = c.ink(red, "✗")
		}
		lines = append(lines, "  "+mark+" "+pad(claim.What, 25)+pad(claim.Seen, 29)+c.ink(faint, "claimed "+claim.Claimed))
	}
	lines = append(append(lines, ""), wrap(s.conclusion(v))...)
	if v.Doubt != "" {
		lines = append(lines, wrap(v.Doubt)...)
	}
	return lines
}

func (s *show) conclusion(v *Verdict) string {
	share := func(a *act) string { return percent(a.so(height).class(priority.Critical).GoodShare()) }
	text := fmt.Sprintf("Offered %s what it can do, the service answered %s of its critical requests in time",
		times(s.acts[0].plan.Phases[height].Multiple), share(s.acts[0]))
	if len(s.acts) > 1 {
		text += fmt.Sprintf("; without Plimsoll, %s", share(s.acts[1]))
	}
	text += "."
	if !v.Held() {
		text += " Not all that is claimed was seen."
	}
	return text
}

// lineLength is how long lines of prose are, on any screen.
const lineLength = 78

// wrap breaks a text into lines.
func wrap(text string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && columns(line)+1+columns(word) > lineLength {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
