package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// twin is a batch that is decided twice, by a store that takes the lean way
// and by one that never does.
type twin struct {
	srv         *server
	lean, plain *Store
	watch       *watch
}

func newTwin(t *testing.T) *twin {
	t.Helper()
	tw := &twin{srv: start(t), watch: &watch{now: begin}}
	for _, s := range []**Store{&tw.lean, &tw.plain} {
		opened, err := New(Config{Addrs: []string{tw.srv.Socket}, Patience: 10 * time.Second, Prefix: fmt.Sprintf("twin%p:", s)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		tw.watch.wind(opened)
		*s = opened
	}
	return tw
}

// decide makes a call, and returns the answer as it came.
func decide(t *testing.T, s *Store, b *store.Batch, j job) (answer any) {
	t.Helper()
	jobs := []job{j}
	s.claims.run(t.Context(), s.client, jobs)
	answers, err := answersTo(&jobs[0], 1)
	if err == nil {
		err = decode(answers[0], b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answers[0]
}

// both decides a batch twice, and reports whether the lean way was found, and
// whether it was gone to its end.
func (tw *twin) both(t *testing.T, b *store.Batch) (found, decided bool) {
	t.Helper()
	all, err := termsOfAll(b)
	if err != nil {
		t.Fatal(err)
	}
	_, found = leanWay(b, all)
	other := *b
	other.Grants = make([]store.Grant, len(b.Grants))
	decide(t, tw.plain, &other, tw.plain.inRecords(&other, all, ""))
	j, err := tw.lean.encode(b)
	if err != nil {
		t.Fatal(err)
	}
	answer, records := decide(t, tw.lean, b, j).(string)
	if !slices.Equal(b.Grants, other.Grants) {
		t.Fatalf("%s: the lean way says\n%+v, and the other\n%+v", describe(b), b.Grants, other.Grants)
	}
	for i := range b.Claims {
		if one, two := tw.state(t, tw.lean, &b.Claims[i]), tw.state(t, tw.plain, &b.Claims[i]); one != two {
			t.Fatalf("%s: the lean way leaves\n%q, and the other\n%q", describe(b), one, two)
		}
	}
	return found, found && (!records || len(answer) != answerSize*len(b.Claims))
}

func describe(b *store.Batch) string {
	var text strings.Builder
	for _, c := range b.Claims {
		fmt.Fprintf(&text, "%d of %s (%s), group %d; ", c.Cost, c.Limit.Name, c.Limit.Rate, c.Group)
	}
	return text.String()
}

// state is what a claim's key holds: of slots, those that last.
func (tw *twin) state(t *testing.T, s *Store, c *store.Claim) string {
	t.Helper()
	key := s.keyOf(c.Owner, c.Limit)
	if c.Limit.Kind == store.Slots {
		return fmt.Sprint(tw.srv.do(t, "ZRANGEBYSCORE", key, "("+s.clock(), "+inf", "WITHSCORES"))
	}
	return fmt.Sprint(tw.srv.do(t, "EVAL", "return redis.call('GET', KEYS[1]) or ''", 1, key))
}

// leanLimits are what the random requests ask for; the last one is another
// version of the first.
func leanLimits(t *testing.T) (limits []*store.Limit) {
	t.Helper()
	held, err := store.NewSlots("slots", 4, 2*time.Second+time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	window, err := store.NewTokens("window", store.FixedWindow, limit.Per(9, 700*time.Millisecond), 0)
	if err != nil {
		t.Fatal(err)
	}
	v := versions(t)
	return []*store.Limit{v[0], v[1], window, held, v[2]}
}

// A request is granted, refused and told the same by the lean way as by the
// general one, and leaves the same state. That holds in any order of its
// claims, with changed limits, with what is given back between, and with a clock
// that goes back a little or far.
func TestLeanDecidesAsTheRest(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			tw, random, limits := newTwin(t), rand.New(rand.NewPCG(seed, 7)), leanLimits(t) //nolint:gosec // repeats
			steps := []time.Duration{0, 0, time.Microsecond, 33_333 * time.Microsecond, 700 * time.Millisecond, 2 * time.Second, 5 * time.Second, -time.Millisecond, -time.Minute}
			var granted, refused int
			for i := range 1500 {
				tw.watch.advance(steps[random.IntN(len(steps)-random.IntN(3))])
				b := requestOf(random, fmt.Sprint(i/40), limits, i%40)
				b.Now = tw.watch.read()
				found, decided := tw.both(t, b)
				all := passed(b)[b.Claims[0].Group]
				if decided && all {
					granted++
				} else if found && decided {
					refused++
				}
				if all && random.IntN(3) == 0 {
					tw.giveBack(t, b, random.IntN(len(b.Claims)))
				}
			}
			if granted < 100 || refused < 100 {
				t.Errorf("the lean way granted %d and refused %d: this says little", granted, refused)
			}
		})
	}
}

// requestOf draws a request of an owner, who begins with a list that stays.
func requestOf(random *rand.Rand, owner string, limits []*store.Limit, n int) *store.Batch {
	list := slices.Clone(limits[:len(limits)-1])
	if n > 25 {
		list = slices.Clone(limits)
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:1+random.IntN(len(list))]
	} else {
		own := rand.New(rand.NewPCG(uint64(len(owner)), uint64(owner[len(owner)-1]))) //nolint:gosec // repeats
		own.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:1+own.IntN(len(list))]
	}
	b := batchOf(owner, list...)
	for i := range b.Claims {
		if b.Claims[i].Limit.Kind == store.Tokens {
			b.Claims[i].Cost = 1 + int64(random.IntN(3))*b.Claims[i].Limit.Burst/7
		}
	}
	group := store.Group(random.IntN(8) / 7)
	for i := range b.Claims {
		b.Claims[i].Group = group
	}
	return b
}

// giveBack gives one claim back to both stores.
func (tw *twin) giveBack(t *testing.T, b *store.Batch, i int) {
	t.Helper()
	tw.watch.advance(10 * time.Millisecond)
	for _, s := range []*Store{tw.lean, tw.plain} {
		if err := s.Return(t.Context(), []store.Return{returnOf(b, i, tw.watch.read())}); err != nil {
			t.Fatal(err)
		}
	}
}

// Which requests the lean way is for.
func TestLeanWay(t *testing.T) {
	l := leanLimits(t)
	fourth, err := store.NewTokens("fourth", store.TokenBucket, limit.Per(1, time.Second), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		limits []*store.Limit
		spoil  func(b *store.Batch)
		want   string
	}{
		{"a bucket", l[:1], nil, "1"},
		{"a slot", l[3:4], nil, "0s"},
		{"three limits and a slot", l[:4], nil, "3s"},
		{"a slot first", []*store.Limit{l[3], l[2]}, nil, "1s"},
		{"shadow claims", l[:2], func(b *store.Batch) { b.Claims[0].Group, b.Claims[1].Group = store.Shadow, store.Shadow }, "2"},
		{"another's slot", l[2:4], func(b *store.Batch) { b.Claims[1].Owner = store.KeyOf("another") }, "1s"},
		{"two groups", l[:2], func(b *store.Batch) { b.Claims[1].Group = store.Shadow }, ""},
		{"two owners", l[:2], func(b *store.Batch) { b.Claims[1].Owner = store.KeyOf("another") }, ""},
		{"four limits", []*store.Limit{l[0], l[1], l[2], fourth}, nil, ""},
		{"one limit twice", []*store.Limit{l[0], l[1], l[0]}, nil, ""},
		{"two versions of a limit", []*store.Limit{l[0], l[4]}, nil, ""},
		{"two slots", []*store.Limit{l[3], l[3]}, nil, ""},
		{"no tokens", l[:2], func(b *store.Batch) { b.Claims[1].Cost = 0 }, ""},
		{"a peek", l[:2], func(b *store.Batch) { b.Peek = true }, ""},
		{"all of a bucket", l[:2], func(b *store.Batch) { b.Claims[0].Cost = l[0].Burst }, "2"},
		{"more than a bucket holds", l[:2], func(b *store.Batch) { b.Claims[0].Cost = l[0].Burst + 1 }, ""},
		{"more than a window has", l[1:3], func(b *store.Batch) { b.Claims[1].Cost = 10 }, ""},
	} {
		b := batchOf("o", c.limits...)
		if c.spoil != nil {
			c.spoil(b)
		}
		all, err := termsOfAll(b)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if w, ok := leanWay(b, all); ok {
			got = w.String()
		}
		if got != c.want {
			t.Errorf("%s: the way %q, want %q", c.name, got, c.want)
		}
	}
}

// Who is refused by the lean way writes nothing, whichever claim refuses.
func TestLeanThatRefusesIsLeftAlone(t *testing.T) {
	srv := start(t)
	s, l, held := open(t, srv), bucketOf(t, 2), slotsOf(t, 2)
	wide := fixedOf(t)
	for _, limits := range [][]*store.Limit{{l, wide}, {wide, held}, {held}, {l, wide, slotsOf(t, 9)}} {
		srv.do(t, "FLUSHALL")
		claim(t, s, batchOf("a", limits...))
		claim(t, s, batchOf("a", limits...))
		look := func() (seen []any) {
			for _, l := range limits {
				key := s.keyOf(store.KeyOf("a"), l)
				seen = append(seen, srv.do(t, "DUMP", key), srv.do(t, "PEXPIRETIME", key))
			}
			return seen
		}
		before := look()
		if b := claim(t, s, batchOf("a", limits...)); passed(b)[store.Enforced] {
			t.Errorf("the third of two is granted %+v", b.Grants)
		}
		if !slices.Equal(look(), before) {
			t.Errorf("a refusal of %d claims wrote", len(limits))
		}
	}
}

// Other data under one of the keys fails a request that goes the lean way, and
// charges it nothing.
func TestLeanOnOtherData(t *testing.T) {
	srv := start(t)
	s, l, held := open(t, srv), bucketOf(t, 2), slotsOf(t, 5)
	tokens, set := s.keyOf(store.KeyOf("a"), l), s.keyOf(store.KeyOf("a"), held)
	for _, key := range []string{tokens, set} {
		for _, data := range []string{"", "x", strings.Repeat("x", 57), "\x01" + strings.Repeat("x", 55)} {
			srv.do(t, "FLUSHALL")
			srv.do(t, "SET", key, data)
			if err := s.Claim(t.Context(), batchOf("a", l, held)); !errors.Is(err, store.ErrKey) {
				t.Errorf("%q at %s: error %v", data, key, err)
			}
			if n := srv.do(t, "DBSIZE").(int64); n != 1 || srv.do(t, "GET", key) != data {
				t.Errorf("%q at %s: %d keys, and there is %q", data, key, n, srv.do(t, "GET", key))
			}
		}
	}
}

// What the lean way writes stays for as long as it is owed or held, and no set
// of slots keeps those that ended.
func TestLeanKeysEnd(t *testing.T) {
	srv, w := start(t), &watch{now: begin}
	s, l, long := open(t, srv), leanLimits(t), bucketOf(t, 60)
	w.wind(s)
	held := l[3]
	for i := range 200 {
		w.advance(time.Duration(i%5) * 300 * time.Millisecond)
		b := claim(t, s, batchOf("a", long, l[1], held))
		if !passed(b)[store.Enforced] {
			continue
		}
		for n, least := range []time.Duration{b.Grants[0].ResetAfter, b.Grants[0].ResetAfter, held.Lease} {
			ends := time.Duration(srv.do(t, "PTTL", s.keyOf(store.KeyOf("a"), b.Claims[n].Limit)).(int64)) * time.Millisecond
			if low := least + time.Hour - 10*time.Second; ends < low || ends > least+2*time.Hour+time.Minute {
				t.Fatalf("call %d: the key of %s ends in %s, and is owed for %s", i, b.Claims[n].Limit.Name, ends, least)
			}
		}
	}
	key := s.keyOf(store.KeyOf("a"), held)
	w.advance(time.Minute)
	srv.do(t, "PEXPIRE", key, 1000)
	claim(t, s, batchOf("a", long, l[1], held))
	if n := srv.do(t, "ZCARD", key); n != int64(1) {
		t.Errorf("%d slots in the set, and one is held", n)
	}
}

// A loan is the same by the short way as by the general one, and leaves the
// same state, whatever is claimed between.
func TestLoanGoesTheShortWay(t *testing.T) {
	tw, random, limits := newTwin(t), rand.New(rand.NewPCG(3, 7)), leanLimits(t) //nolint:gosec // repeats
	tw.plain.lends = newScript(common + lendSource)
	steps := []time.Duration{0, time.Microsecond, 33_333 * time.Microsecond, 700 * time.Millisecond, 5 * time.Second, -time.Millisecond, -time.Minute}
	lent, refused := 0, 0
	for i := range 3000 {
		owner, l := fmt.Sprint(i/40), limits[i/40%3]
		if i%40 > 25 {
			l = limits[[]int{0, 1, 2, 4}[random.IntN(4)]]
		}
		tw.watch.advance(steps[random.IntN(len(steps)-random.IntN(3))])
		if random.IntN(4) == 0 {
			tw.both(t, batchOf(owner, l))
			continue
		}
		loan := store.Loan{Owner: store.KeyOf(owner), Limit: l, Want: 1 + random.Int64N(l.Burst), Parts: 1 + random.Int64N(3), Least: random.Int64N(3)}
		one, two := []store.Loan{loan}, []store.Loan{loan}
		if err := errors.Join(tw.lean.Lend(t.Context(), one), tw.plain.Lend(t.Context(), two)); err != nil {
			t.Fatal(err)
		}
		if one[0] != two[0] {
			t.Fatalf("loan %d of %s: the short way says\n%+v, and the other\n%+v", i, l.Rate, one[0], two[0])
		}
		c := &store.Claim{Owner: loan.Owner, Limit: l}
		if a, b := tw.state(t, tw.lean, c), tw.state(t, tw.plain, c); a != b {
			t.Fatalf("loan %d of %s: the short way leaves\n%q, and the other\n%q", i, l.Rate, a, b)
		}
		if one[0].Lent > 0 {
			lent++
		} else {
			refused++
		}
	}
	if lent < 300 || refused < 300 {
		t.Errorf("%d loans and %d refusals: this says little", lent, refused)
	}
}
