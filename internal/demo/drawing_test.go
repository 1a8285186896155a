package demo

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/plimsoll-go/plimsoll/examples/payments/service"
	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

var update = flag.Bool("update", false, "write the golden files anew")

// scripted answers by the arrival alone, so that what is drawn is always the
// same: critical is served, high refused in part, the others by stages.
func scripted(_ context.Context, a load.Arrival) load.Answer {
	refused := func(stage string) load.Answer {
		return load.Answer{Outcome: load.Refused, Refusal: load.Refusal{Stage: stage, Reason: "-"}}
	}
	time.Sleep(time.Duration(a.Pick%40) * time.Millisecond)
	switch {
	case a.Phase != height || a.Class == priority.Critical:
		return load.Answer{}
	case a.Class == priority.High && a.Pick%3 == 0:
		return refused("workershed")
	case a.Class == priority.Normal:
		return refused([]string{"ratelimit", "concurrency", "fleetshed"}[a.Pick%3])
	case a.Class == priority.Low:
		return refused("workershed")
	}
	return load.Answer{}
}

// hopeless answers nobody from the height on.
func hopeless(ctx context.Context, a load.Arrival) load.Answer {
	if a.Phase != before {
		<-ctx.Done()
		return load.Answer{Outcome: load.GaveUp}
	}
	return load.Answer{}
}

// played performs two scripted acts in virtual time on a display.
func played(t *testing.T, c Config, display func(Config) display) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := c.prepared()
		if err != nil {
			t.Fatal(err)
		}
		s, d := &show{config: c}, display(c)
		if s.service, err = service.New(service.Config{Connections: 4}); err != nil {
			t.Fatal(err)
		}
		playAct(t, s, d, "with Plimsoll", scripted)
		playAct(t, s, d, "without", hopeless)
		d.end(s, s.summary(judge(s.acts[0])))
	})
}

func playAct(t *testing.T, s *show, d display, name string, do load.Do) {
	a, err := newAct(name, s.config.plan(s.service.Capacity(), s.config.Duration), do)
	if err != nil {
		t.Fatal(err)
	}
	s.acts = append(s.acts, a)
	if err := a.run(t.Context(), 700*time.Millisecond, func() { d.frame(s) }); err != nil {
		t.Fatal(err)
	}
}

func TestThePlainLogReadsAsItDid(t *testing.T) {
	var out strings.Builder
	played(t, Config{Out: &out, Duration: 8 * time.Second}, func(c Config) display { return c.display() })
	golden(t, "plain.txt", out.String())
	for _, r := range out.String() {
		if r >= 128 {
			t.Fatalf("the plain log holds %q, which is not ASCII", r)
		}
	}
}

func TestTheTableReadsAsItDid(t *testing.T) {
	var out strings.Builder
	played(t, Config{Out: &out, Duration: 16 * time.Second, Size: terminal(80, 30)}, func(c Config) display { return c.display() })
	golden(t, "live.txt", screen(out.String()))
	if !strings.HasPrefix(out.String(), hideCursor) || !strings.HasSuffix(out.String(), showCursor) {
		t.Error("the cursor is not put back")
	}
}

// Whatever the size of the terminal, no frame is wider or higher.
func TestEachFrameFitsItsScreen(t *testing.T) {
	played(t, Config{Out: t.Output(), Colour: ANSI, Duration: 12 * time.Second}, func(Config) display { return fitting{t} })
}

// fitting draws each frame for screens of many sizes, and looks whether it fits.
type fitting struct{ *testing.T }

func (f fitting) frame(s *show) {
	if t := s.current().so(s.current().phase()); t.all.Offered != t.all.Settled() {
		f.Errorf("of %d offered, %d are settled: a frame shows what is still under way", t.all.Offered, t.all.Settled())
	}
	for _, size := range [][2]int{{80, 30}, {80, 20}, {80, 19}, {80, 18}, {80, 17}, {60, 12}, {20, 2}, {38, 60}} {
		var text strings.Builder
		drawn := live{out: &text, size: terminal(size[0], size[1])}
		drawn.frame(s)
		lines := strings.Split(screen(text.String()), "\n")
		if len(lines) > size[1] { // the last is the cursor's
			f.Errorf("%d lines on a screen of %v", len(lines), size)
		}
		for _, line := range lines {
			if n := columns(line); n > size[0] {
				f.Errorf("%d columns on a screen of %v: %q", n, size, line)
			}
		}
	}
}

func (f fitting) end(*show, []string) {}

// What the columns have no place for is said above them.
func TestErrorsAreSaid(t *testing.T) {
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		c, err := Config{Out: &out, Duration: shortest, Size: terminal(80, 30)}.prepared()
		if err != nil {
			t.Fatal(err)
		}
		s := &show{config: c}
		if s.service, err = service.New(service.Config{Connections: 4}); err != nil {
			t.Fatal(err)
		}
		playAct(t, s, c.display(), "with Plimsoll", func(context.Context, load.Arrival) load.Answer { return load.Answer{Outcome: load.Failed} })
	})
	if got := screen(out.String()); !strings.Contains(got, " failed, 0 not sent") {
		t.Errorf("the screen shows\n%s", got)
	}
}

func TestEachFrameReplacesTheOneBefore(t *testing.T) {
	var out strings.Builder
	l := &live{out: &out}
	l.draw([]string{"one", "another", "three"}, 80)
	l.draw([]string{"four", "five"}, 80)
	if got := screen(out.String()); got != "four\nfive\n" {
		t.Errorf("the screen shows %q", got)
	}
}

func TestNoColourUnlessAskedFor(t *testing.T) {
	for _, c := range []Colour{Monochrome, ANSI} {
		var out strings.Builder
		played(t, Config{Out: &out, Colour: c, Duration: 8 * time.Second, Size: terminal(100, 40)}, func(c Config) display { return c.display() })
		if coloured := strings.Contains(out.String(), "\x1b[32m"); coloured != (c == ANSI) {
			t.Errorf("colour %v: coloured is %v", c, coloured)
		}
	}
}

func terminal(width, height int) func() (int, int, bool) {
	return func() (int, int, bool) { return width, height, true }
}

// screen is what stands on a terminal after the writing of a text, as far as
// this package's escape sequences go.
func screen(text string) string {
	lines, row, column := [][]rune{nil}, 0, 0
	for rest := text; rest != ""; {
		if sequence := escape.FindStringSubmatch(rest); sequence != nil {
			n, _ := strconv.Atoi(sequence[1])
			switch sequence[2] {
			case "A":
				row -= n
			case "K":
				lines[row] = nil
			case "J":
				lines = append(lines[:row], lines[row][:column])
			}
			rest = rest[len(sequence[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		switch r {
		case '\r':
			column = 0
		case '\n':
			row, column = row+1, 0
			if row == len(lines) {
				lines = append(lines, nil)
			}
		default:
			for len(lines[row]) <= column {
				lines[row] = append(lines[row], ' ')
			}
			lines[row][column] = r
			column++
		}
	}
	var shown strings.Builder
	for _, line := range lines {
		shown.WriteString(string(line) + "\n")
	}
	return strings.TrimRight(shown.String(), "\n") + "\n"
}

var escape = regexp.MustCompile(`^\x1b\[\??(\d*)([A-Za-z])`)

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed (go test -update writes it anew):\n%s", name, got)
	}
}
