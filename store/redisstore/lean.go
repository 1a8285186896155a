package redisstore

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-go/plimsoll/store"
)

//go:embed lean.lua
var leanPattern string

// way is one kind of call that lean.lua is for.
type way struct {
	limits int // on tokens
	slot   bool
}

// mostLean is how many limits on tokens such a call has at most.
const mostLean = 3

// String is how the call names it to the script.
func (w way) String() string {
	name := "0s1s2s3s"[2*w.limits:][:2]
	if w.slot {
		return name
	}
	return name[:1]
}

// keys is how many keys such a call has.
func (w way) keys() (n int) {
	if w.limits > 0 {
		n++
	}
	if w.slot {
		n++
	}
	return n
}

// source is what the pattern says for a way.
func (w way) source() string {
	_, pattern, _ := strings.Cut(leanPattern, "\nif ")
	kept := func(keep bool) func(string) string {
		return func(part string) string {
			if keep {
				return part
			}
			return ""
		}
	}
	text := fill("if "+pattern, "<+", "+>", kept(w.slot))
	text = fill(text, "<-", "->", kept(w.limits > 0))
	text = fill(text, "<<", ">>", func(part string) string {
		var each strings.Builder
		for i := range w.limits {
			each.WriteString(strings.ReplaceAll(part, "#", strconv.Itoa(i+1)))
		}
		return each.String()
	})
	keys := w.keys()
	return strings.NewReplacer("$WAY", w.String(), "$SIZE", strconv.Itoa(1+56*w.limits), "$KEYS", strconv.Itoa(keys), "$BEFORE", strconv.Itoa(keys-1)).Replace(text)
}

// fill puts in place of each part of a text between two marks what with makes of it.
func fill(text, begin, end string, with func(string) string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		part, after, _ := strings.Cut(rest, end)
		b.WriteString(with(part))
		text = after
	}
}

// leanSource is the script for all ways.
func leanSource() string {
	var b strings.Builder
	for limits := range mostLean + 1 {
		b.WriteString(way{limits, true}.source())
		if limits > 0 {
			b.WriteString(way{limits, false}.source())
		}
	}
	return b.String()
}

// leanWay is the way of a batch, if it has one: claims of one group, with a cost
// that could pass, on at most three limits on tokens of one owner, each once,
// and on at most one set of slots.
func leanWay(b *store.Batch, all []terms) (w way, ok bool) {
	if b.Peek || len(b.Claims) > mostLean+1 {
		return w, false
	}
	var first *store.Claim // on tokens
	for i := range b.Claims {
		c := &b.Claims[i]
		switch {
		case c.Group != b.Claims[0].Group, c.Limit.Kind == store.Slots && w.slot:
			return w, false
		case c.Limit.Kind == store.Slots:
			w.slot = true
			continue
		case first == nil:
			first = c
		case c.Owner != first.Owner || slices.ContainsFunc(all[:i], func(t terms) bool { return t.id == all[i].id }):
			return w, false
		}
		if !all[i].holds(c.Cost) {
			return w, false
		}
		w.limits++
	}
	return w, w.limits <= mostLean
}

// holds reports whether a full bucket, or an unused window, has so many tokens.
func (t *terms) holds(cost int64) bool {
	burst := t.capacity
	if t.unit > 0 {
		burst /= t.interval
	}
	return cost > 0 && uint64(cost) <= burst
}

// decodeLean reads the answer to such a batch.
func decodeLean(answer string, b *store.Batch) error {
	figures := []byte(answer[1:])
	next := func() (v uint64) {
		v, figures = uint64(figure(figures)), figures[8:]
		return v
	}
	granted, now := answer[0] == 1, next()
	for i := range inOrder(b.Claims) {
		c, word := &b.Claims[i], next()
		t, err := termsOf(c.Limit)
		if err != nil {
			return err
		}
		switch {
		case c.Limit.Kind == store.Slots:
			b.Grants[i] = store.Grant{OK: granted || word < t.capacity, Remaining: int64(t.capacity - min(word, t.capacity))}
		case t.unit == 0:
			b.Grants[i] = t.window(c.Cost, word, now)
		default:
			b.Grants[i] = t.bucket(c.Cost, word)
		}
		if granted {
			b.Grants[i].OK, b.Grants[i].RetryAfter = true, 0
		}
	}
	return nil
}

// bucket is what a refused batch is told of a claim on a bucket that owes word;
// of one that was granted only what passes and when is another.
func (t *terms) bucket(cost int64, word uint64) store.Grant {
	after := word + uint64(cost)*t.interval
	return store.Grant{
		OK: after <= t.capacity, RetryAfter: microseconds(float64(ceil(after-min(after, t.capacity), t.unit))),
		Remaining:  int64((t.capacity - min(word, t.capacity)) / t.interval),
		ResetAfter: microseconds(float64(ceil(word, t.unit))), Handle: word,
	}
}

// window is the same of a window of which word is used.
func (t *terms) window(cost int64, word, now uint64) store.Grant {
	start := now - now%t.interval
	ends := microseconds(float64(start + t.interval - now))
	g := store.Grant{OK: word+uint64(cost) <= t.capacity, Remaining: int64(t.capacity - min(word, t.capacity)), Handle: start}
	if !g.OK {
		g.RetryAfter = ends
	}
	if word > 0 {
		g.ResetAfter = ends
	}
	return g
}
