package storetest

import (
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

var historyRules = []rule{
	{
		"history/model",
		"Whatever is claimed, returned, renewed and reset, at whatever moments and under whatever limits, the answers are those of the plain model.",
		func(k *kit) {
			rapid.Check(k.test, func(t *rapid.T) { newHistory(newKit(k.test, k.open(k.test)), t).run() })
		},
	},
	{
		"history/shared",
		"The same holds on a driver that remembers the owners of many histories.",
		func(k *kit) {
			rapid.Check(k.test, func(t *rapid.T) {
				h := newHistory(k, t)
				h.run()
				k.now = max(k.now, h.latest)
			})
		},
	},
}

// history is a random sequence of calls on a driver and the model.
type history struct {
	*kit
	rapid   *rapid.T
	model   *model
	owners  []store.Key
	limits  [][]*store.Limit // variants of each limit
	current []int
	taken   []taken
	last    store.Grant
	latest  int64 // the latest moment yet
}

type taken struct {
	store.Return
	memo memo
	cost int64
}

func newHistory(k *kit, t *rapid.T) *history {
	own := *k
	own.tester = t
	h := &history{kit: &own, rapid: t, latest: k.now, model: newModel(), owners: []store.Key{k.owner(), k.owner(), k.owner()}}
	var mixed []*store.Limit
	for _, a := range k.harness.Algorithms {
		h.limits = append(h.limits, h.variants(a.String(), a))
		mixed = append(mixed, h.variants("mixed", a)...)
	}
	h.limits = append(h.limits, mixed, []*store.Limit{k.slots(1, time.Second), k.slots(3, 5*time.Second), k.slots(2, time.Hour)})
	h.current = make([]int, len(h.limits))
	for i := range h.limits {
		h.current[i] = rapid.IntRange(0, len(h.limits[i])-1).Draw(t, "variant")
	}
	return h
}

// variants are limits of one name; a driver whose time is coarse gets those
// whose tokens take whole steps of it.
func (h *history) variants(name string, a store.Algorithm) (list []*store.Limit) {
	rates := []struct {
		rate  limit.Rate
		burst int64
	}{
		{limit.Per(5, time.Second), 5}, {limit.Per(1000, time.Second), 3}, {limit.Per(1, time.Minute), 2}, {limit.Per(20, time.Second), 40},
	}
	if h.exact() {
		rates = append(rates, []struct {
			rate  limit.Rate
			burst int64
		}{
			{limit.Per(3, time.Second), 7}, {limit.Per(7, time.Hour), 7}, {limit.Per(700_000_000, time.Second), 5},
			{limit.Per(999_999_937, time.Second), 1 << 31}, {limit.Per(1, 400*day), 2}, {limit.Per(3, 7), 1},
		}...)
	}
	for _, r := range rates {
		if l, err := store.NewTokens(name, a, r.rate, r.burst); err == nil { // not every algorithm counts every rate
			list = append(list, l)
		}
		if l, err := store.NewLeaky(name, r.rate, r.burst, r.burst/3); err == nil && a == store.LeakyBucket {
			list = append(list, l)
		}
	}
	return list
}

func (h *history) run() {
	for range rapid.IntRange(1, 60).Draw(h.rapid, "steps") {
		switch rapid.IntRange(0, 15).Draw(h.rapid, "step") {
		case 0, 1, 2, 3, 4, 5, 6:
			h.stepClaim()
		case 7, 8:
			h.stepReturn()
		case 9:
			h.stepRenew()
		case 10:
			h.stepReset()
		case 11:
			h.stepChange()
		case 12:
			h.stepBack()
		default:
			h.pass(h.drawPause())
		}
	}
}

func (h *history) drawOwner() store.Key { return rapid.SampledFrom(h.owners).Draw(h.rapid, "owner") }

func (h *history) drawLimit() *store.Limit {
	i := rapid.IntRange(0, len(h.limits)-1).Draw(h.rapid, "limit")
	return h.limits[i][h.current[i]]
}

func (h *history) drawCost(l *store.Limit) int64 {
	return rapid.OneOf(
		rapid.SampledFrom([]int64{1, 0, l.Burst, l.Burst + 1, l.Burst - 1, -1, math.MaxInt64, math.MinInt64}),
		rapid.Int64Range(0, max(l.Burst, 1))).Draw(h.rapid, "cost")
}

func (h *history) drawPause() time.Duration {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{
			h.tick(), max(0, h.last.RetryAfter), max(0, h.last.RetryAfter-h.tick()), h.last.ResetAfter, max(0, h.last.ResetAfter-h.tick()),
			time.Millisecond, time.Second, 5 * time.Second, time.Minute, time.Hour, 20 * 365 * day,
		}),
		rapid.Map(rapid.Int64Range(0, int64(10*time.Second)), func(n int64) time.Duration { return time.Duration(n) }),
	).Draw(h.rapid, "pause")
}

func (h *history) pass(d time.Duration) {
	if int64(d) < math.MaxInt64/2-h.now {
		h.kit.pass(d)
		h.latest = max(h.latest, h.now)
	}
}

// stepClaim asks for a batch. Slots of one limit and owner are asked for once:
// a request holds a slot or does not.
func (h *history) stepClaim() {
	b := &store.Batch{ID: h.id(), Now: h.now, Budget: time.Minute}
	slots := map[modelKey]bool{}
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 3, 5}).Draw(h.rapid, "claims") {
		c := store.Claim{Owner: h.drawOwner(), Limit: h.drawLimit(), Cost: 1}
		c.Group = rapid.SampledFrom([]store.Group{store.Enforced, store.Enforced, store.Shadow}).Draw(h.rapid, "group")
		if c.Limit.Kind == store.Tokens {
			c.Cost = h.drawCost(c.Limit)
		} else if key := (modelKey{c.Owner, c.Limit.ID}); slots[key] {
			continue
		} else {
			slots[key] = true
		}
		b.Claims = append(b.Claims, c)
	}
	b.Grants = make([]store.Grant, len(b.Claims))
	peek := *b
	peek.Peek, peek.Grants = true, slices.Clone(b.Grants)
	if rapid.IntRange(0, 3).Draw(h.rapid, "peek") == 0 {
		h.ask(&peek)
	}
	h.ask(b)
	want, memos := h.model.claim(b)
	for i := range want {
		c := &b.Claims[i]
		h.want(h.describe(c), b.Grants[i], want[i])
		if peek.Grants[i] != (store.Grant{}) {
			h.want("peek at "+h.describe(c), peek.Grants[i], want[i])
		}
		h.last = want[i]
		granted := all(b, store.Enforced) && (c.Group == store.Enforced || all(b, store.Shadow))
		if granted && want[i].OK {
			h.taken = append(h.taken, taken{h.returned(b, i, 0), memos[i], c.Cost})
		}
	}
}

func (h *history) describe(c *store.Claim) string {
	if c.Limit.Kind == store.Slots {
		return "a slot"
	}
	return c.Limit.Algorithm.String() + " " + c.Limit.Rate.String()
}

// stepReturn gives one of the grants back, or charges it, now and then for the
// second time.
func (h *history) stepReturn() {
	if len(h.taken) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.taken)-1).Draw(h.rapid, "which")
	t := h.taken[i]
	t.Now = h.now
	t.Tokens = rapid.SampledFrom([]int64{t.cost, t.cost, t.cost / 2, 1, t.cost + 1, -1, -t.cost, math.MaxInt64, math.MinInt64}).Draw(h.rapid, "tokens")
	t.AnyGrant = t.Tokens > 0 && rapid.IntRange(0, 9).Draw(h.rapid, "any grant") == 0
	h.giveBack(t.Return)
	h.model.giveBack(&t.Return, t.memo)
	if rapid.Bool().Draw(h.rapid, "once") {
		h.taken = append(h.taken[:i], h.taken[i+1:]...)
	}
}

func (h *history) stepRenew() {
	if len(h.taken) == 0 {
		return
	}
	t := rapid.SampledFrom(h.taken).Draw(h.rapid, "which")
	if t.Limit.Kind != store.Slots {
		return
	}
	t.Now = h.now
	h.renew(t.Return)
	h.model.renew(&t.Return)
}

func (h *history) stepReset() {
	l := h.drawLimit()
	if l.Kind != store.Tokens {
		return
	}
	r := store.Return{ID: h.id(), Owner: h.drawOwner(), Limit: l, At: h.now, Now: h.now, Reset: true}
	h.giveBack(r)
	h.model.giveBack(&r, memo{})
}

// stepChange makes another variant of a limit the current one.
func (h *history) stepChange() {
	if !h.exact() {
		return
	}
	i := rapid.IntRange(0, len(h.limits)-1).Draw(h.rapid, "changed")
	h.current[i] = rapid.IntRange(0, len(h.limits[i])-1).Draw(h.rapid, "variant")
}

// stepBack turns the clock back by up to a second behind the latest moment, as
// stamps that come late do. A driver may have forgotten who owed nothing by
// then, so what happens further back is not the model's to say.
func (h *history) stepBack() {
	if !h.virtual() {
		return
	}
	back := rapid.SampledFrom([]int64{1, int64(time.Millisecond), int64(time.Second) - 1, int64(time.Second)}).Draw(h.rapid, "back")
	h.now = max(h.now-back, h.latest-int64(time.Second))
}
