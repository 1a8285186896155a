package algorithms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

// Mistakes is how often a sliding window decided otherwise than a log of the
// same limit, when both saw the same requests.
type Mistakes struct {
	Traffic  string
	Requests int64
	Refused  int64 // by the log
	Passed   int64 // by the window, and not by the log
	Denied   int64 // by the window, and not by the log
	Most     int64 // admitted by the window within any one window's length, of Limit
	Limit    int64
}

// Wrong is the share of decisions that were wrong.
func (m *Mistakes) Wrong() float64 { return float64(m.Passed+m.Denied) / float64(m.Requests) }

// String is a row of a table.
func (m *Mistakes) String() string {
	return fmt.Sprintf("| %s | %d | %.2f %% | %.4f %% | %.4f %% | **%.4f %%** | %d of %d |", m.Traffic, m.Requests,
		percent(m.Refused, m.Requests), percent(m.Passed, m.Requests), percent(m.Denied, m.Requests), 100*m.Wrong(), m.Most, m.Limit)
}

// TableHead is the head of a table of Mistakes.
const TableHead = "| traffic | requests | refused by the log | passed wrongly | refused wrongly | wrong | most in one window |\n|---|---:|---:|---:|---:|---:|---:|\n"

func percent(n, of int64) float64 { return 100 * float64(n) / float64(of) }

// contest is a sliding window and a log of one limit.
type contest struct {
	window limit.SlidingWindow
	log    limit.SlidingLog
	found  *Mistakes

	counted limit.Sliding
	logged  []int64
	passed  []int64 // by the window, within its length
}

func (c *contest) begin() {
	c.counted, c.logged, c.passed = limit.Sliding{}, c.logged[:0], c.passed[:0]
}

func (c *contest) ask(now int64) {
	var estimated limit.Result
	c.counted, estimated = c.window.Take(c.counted, now, 1)
	c.logged = c.log.Advance(c.logged, now)
	exact := c.log.Ask(c.logged, now, 0, 1)
	if exact.OK {
		c.logged = c.log.Spend(c.logged, now, 1)
	} else {
		c.found.Refused++
	}
	c.found.Requests++
	switch {
	case estimated.OK && !exact.OK:
		c.found.Passed++
	case !estimated.OK && exact.OK:
		c.found.Denied++
	}
	if estimated.OK {
		c.passed = c.log.Spend(c.log.Advance(c.passed, now), now, 1)
		c.found.Most = max(c.found.Most, int64(len(c.passed)))
	}
}

func newContest(traffic string, count int64, period time.Duration) *contest {
	return &contest{
		window: limit.SlidingWindow{Limit: count, Window: period}, log: limit.SlidingLog{Limit: count, Window: period},
		found: &Mistakes{Traffic: traffic, Limit: count},
	}
}

// sources is traffic of many, each for an hour, with a limit of 100 a minute.
// Half of them ask less than 4 times a minute, at random moments, half as often
// or half as often again for some minutes.
type sources struct {
	many      int
	spread    float64 // of their rates, as the deviation of their logarithms
	attackers int     // one source in so many asks 20 times as often as it may; 0 is none
}

// near has about one source in a thousand above its limit, and as many near it.
func near(many int) sources { return sources{many, 1.04, 0} }

// apart has all sources far below their limit, but one in a thousand far above.
func apart(many int) sources { return sources{many, 0.6, 1000} }

// ManySources is traffic as a large network sees it, on a log and a window that
// count what they admit.
func ManySources(name string, from sources) *Mistakes {
	c := newContest(name, 100, time.Minute)
	from.each(c.begin, c.ask)
	return c.found
}

// ManySourcesCounted judges the same traffic as a network does that counts every
// request, refused or not, and asks whether the rate is above the limit.
func ManySourcesCounted(name string, from sources) *Mistakes {
	c := &census{length: int64(time.Minute), found: &Mistakes{Traffic: name, Limit: 100}}
	from.each(func() { *c = census{length: c.length, found: c.found, all: c.all[:0], passed: c.passed[:0]} }, c.ask)
	return c.found
}

func (s *sources) each(begins func(), ask func(now int64)) {
	for i := range s.many {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		perMinute := 4 * math.Exp(s.spread*r.NormFloat64())
		if s.attackers > 0 && i%s.attackers == 0 {
			perMinute = 2000
		}
		begins()
		swing, until := 1.0, int64(0)
		for now := begin + int64(r.Float64()*float64(time.Minute)); now < begin+int64(time.Hour); {
			if now >= until {
				swing, until = []float64{0.5, 1, 1.5}[r.IntN(3)], now+int64(5*time.Minute)
			}
			now += int64(r.ExpFloat64() / (perMinute * swing) * float64(time.Minute))
			ask(now)
		}
	}
}

// census counts every request of a source: by two windows, and each by itself.
type census struct {
	length                   int64
	start, current, previous int64
	all                      []int64 // within the length
	passed                   []int64
	found                    *Mistakes
}

func (c *census) ask(now int64) {
	if start := now - now%c.length; start != c.start {
		if c.previous = 0; start == c.start+c.length {
			c.previous = c.current
		}
		c.start, c.current = start, 0
	}
	c.current++
	estimate := float64(c.current) + float64(c.previous)*(1-float64(now-c.start)/float64(c.length))
	c.all = append(after(c.all, now-c.length), now)
	exact := len(c.all) > int(c.found.Limit)
	c.found.Requests++
	if exact {
		c.found.Refused++
	}
	switch wrong := estimate > float64(c.found.Limit); {
	case wrong && !exact:
		c.found.Denied++
	case exact && !wrong:
		c.found.Passed++
	}
	if estimate <= float64(c.found.Limit) {
		c.passed = append(after(c.passed, now-c.length), now)
		c.found.Most = max(c.found.Most, int64(len(c.passed)))
	}
}

// after drops the moments up to one.
func after(moments []int64, moment int64) []int64 {
	gone := 0
	for gone < len(moments) && moments[gone] <= moment {
		gone++
	}
	return moments[:copy(moments, moments[gone:])]
}

// AtTheLimit is traffic of sources that ask about as often as they may.
func AtTheLimit(sources int) *Mistakes {
	c := newContest("sources at 0.8 to 1.2 of their limit", 100, time.Minute)
	for i := range sources {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		perMinute := 80 + 40*r.Float64()
		c.begin()
		for now := begin; now < begin+int64(time.Hour); {
			now += int64(r.ExpFloat64() / perMinute * float64(time.Minute))
			c.ask(now)
		}
	}
	return c.found
}

// Adversary is a source that knows the windows: its whole limit at the end of
// one, as much as it gets in the next, and then nothing until it is forgotten.
func Adversary(rounds int) *Mistakes {
	c := newContest("an adversary: all at a window's end, then a flood", 100, time.Minute)
	c.begin()
	for i := range rounds {
		edge := begin + int64(i)*int64(4*time.Minute)
		for n := range int64(100) {
			c.ask(edge + int64(57*time.Second) + n*int64(10*time.Millisecond))
		}
		for n := range int64(590) {
			c.ask(edge + int64(time.Minute) + n*int64(100*time.Millisecond))
		}
	}
	return c.found
}

// Unlucky is a source that an exact limit would serve, and an estimate does
// not: its whole limit at the beginning of a window, again after one window.
func Unlucky(rounds int) *Mistakes {
	c := newContest("an unlucky one: all at a window's beginning, again a window later", 100, time.Minute)
	c.begin()
	for i := range rounds {
		edge := begin + int64(i)*int64(4*time.Minute)
		for n := range int64(100) {
			c.ask(edge + n)
		}
		for n := range int64(100) {
			c.ask(edge + int64(time.Minute) + int64(60*time.Millisecond) + n)
		}
	}
	return c.found
}

// Table measures all kinds of traffic, so many times the usual number of
// sources, and writes a row of each.
func Table(times int) string {
	text := TableHead
	many := 5000 * times
	for _, m := range []*Mistakes{
		ManySourcesCounted("many far below, one in 1000 at 20 times its limit; every request counts", apart(many)),
		ManySources("the same; what is admitted counts", apart(many)),
		ManySourcesCounted("many, one in 1000 somewhat above its limit; every request counts", near(many)),
		ManySources("the same; what is admitted counts", near(many)),
		AtTheLimit(40 * times), Adversary(100 * times), Unlucky(100 * times),
	} {
		text += m.String() + "\n"
	}
	return text
}
