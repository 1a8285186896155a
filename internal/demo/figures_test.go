package demo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(0), none}, {count(0.4), none}, {count(0.6), "1"}, {count(999.4), "999"}, {count(1234567), "1,234,567"},
		{thousands(0), "0"}, {thousands(1000), "1,000"},
		{percent(1), "100.0%"}, {percent(0.9999), "99.9%"}, {percent(0.99), "99.0%"}, {percent(0), "0.0%"},
		{round(0.99), "99%"}, {round(0.002), "0.2%"},
		{times(3), "3×"}, {times(0.6), "0.6×"},
		{millis(0), none}, {millis(1500 * time.Microsecond), "2ms"},
		{seconds(1600 * time.Millisecond), "2s"},
		{bar(0), none}, {bar(0.01), "▁"}, {bar(0.5), "▅"}, {bar(0.99), "█"}, {bar(1), "█"},
		{pad("é", 3), "é  "}, {pad("é", -3), "  é"}, {pad("long", 2), "long"}, {pad(ANSI.ink(red, "x"), 2), "\x1b[31mx\x1b[0m "},
		{clip("héllo", 2), "hé"}, {clip("a"+ANSI.ink(red, "bcd")+"e", 2), "a\x1b[31mb\x1b[0m"}, {clip("", 3), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestWrapBreaksAtWords(t *testing.T) {
	text := strings.Repeat("word and ", 40)
	for _, line := range wrap(text) {
		if columns(line) > lineLength || strings.TrimSpace(line) != line {
			t.Errorf("line %q", line)
		}
	}
	if got := strings.Fields(strings.Join(wrap(text), " ")); !slices.Equal(got, strings.Fields(text)) {
		t.Error("words were lost")
	}
}

func TestPhasesFillTheDuration(t *testing.T) {
	for d := shortest; d <= 2*time.Minute; d += 500 * time.Millisecond {
		c, err := Config{Out: &strings.Builder{}, Duration: d}.prepared()
		if err != nil {
			t.Fatal(err)
		}
		for _, length := range []time.Duration{c.Duration, c.compared()} {
			sum := time.Duration(0)
			for _, phase := range c.phases(length) {
				if phase.Duration < 2*time.Second || phase.Duration%time.Second != 0 {
					t.Errorf("of %v, %s takes %v", length, phase.Name, phase.Duration)
				}
				sum += phase.Duration
			}
			if sum > length || sum <= length-time.Second {
				t.Errorf("the phases of %v take %v", length, sum)
			}
		}
	}
}

func TestPreparedNamesEveryFault(t *testing.T) {
	_, err := Config{Duration: time.Second, Multiple: 11}.prepared()
	if err == nil {
		t.Fatal("taken")
	}
	for _, part := range []string{"duration", "multiple", "out"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
}
