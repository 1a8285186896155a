package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// limitNames finds names that are taken: state in the store belongs to a
// limit's name, whichever stage holds the limit.
type limitNames struct {
	c             *checker
	tokens, slots map[string]string // name → path of its limit
}

// streamsSuffix is what the slots of long-lived requests add to the name of
// their limit.
const streamsSuffix = "-streams"

func (n *limitNames) take(taken map[string]string, name, path string) {
	if name == "" {
		return
	}
	if first, ok := taken[name]; ok {
		n.c.fault(path+".name", fmt.Sprintf("%q is the name of %s already", name, first))
		return
	}
	taken[name] = path
}

func (n *limitNames) takeSlots(name, path string) {
	n.take(n.slots, name, path)
	base, isStreams := strings.CutSuffix(name, streamsSuffix)
	if first, ok := n.slots[base]; isStreams && ok {
		n.c.fault(path+".name", fmt.Sprintf("%q is what the streams of %s count under", name, first))
	}
	if first, ok := n.slots[name+streamsSuffix]; ok {
		n.c.fault(path+".name", fmt.Sprintf("%q is what its streams would count under, and the name of %s", name+streamsSuffix, first))
	}
}

func (c *checker) rateLimits(s *RateLimitStage, stage string, names *limitNames) {
	for i := range s.Limits {
		l := &s.Limits[i]
		path := fmt.Sprintf("%s.limits[%d]", stage, i)
		names.take(names.tokens, string(l.Name), path)
		c.match(&l.Match.RequestMatch, path+".match")
		c.tokens(l, path)
		c.charge(l, path)
		seen := map[Caller]int{}
		for j := range l.Overrides {
			at := fmt.Sprintf("%s.overrides[%d]", path, j)
			c.override(l.Key, l.Overrides[j].Caller, seen, at)
			c.rateOverride(l, &l.Overrides[j], at)
		}
	}
}

// tokens checks the numbers of a rate limit.
func (c *checker) tokens(l *RateLimitEntry, path string) {
	if c.doubtful(path+".rate", path+".burst", path+".cost", path+".algorithm", path+".unlimited") {
		return
	}
	switch {
	case l.Unlimited && l.Rate != limit.Rate{}:
		c.fault(path+".unlimited", "is ambiguous: the limit has a rate; leave one of them away")
	case l.Unlimited && l.Burst != 0:
		c.fault(path+".unlimited", "is ambiguous: the limit has a burst; leave one of them away")
	case l.Unlimited:
	case l.Rate == limit.Rate{}:
		c.fault(path+".rate", allowed("is missing", scalars[rateType].right+", or unlimited: true"))
	default:
		if prepared := c.countable(l, l.Rate, l.Burst, path); prepared != nil {
			c.affordable(l, prepared.Burst, path+".cost")
		}
	}
}

// countable checks that an algorithm can count a rate and a burst, and returns
// what it counts by; nil when it cannot, or need not because all is refused.
func (c *checker) countable(l *RateLimitEntry, r limit.Rate, burst int64, path string) *store.Limit {
	if l.Algorithm != store.TokenBucket && burst != 0 {
		c.fault(path+".burst", fmt.Sprintf("has no meaning for %s; leave it away", l.Algorithm))
		return nil
	}
	if r.Count == 0 {
		return nil
	}
	prepared, err := store.NewTokens(string(l.Name), l.Algorithm, r, burst)
	if err != nil {
		c.fault(path+".rate", cause(err))
		return nil
	}
	c.keepable(prepared, path)
	return prepared
}

// affordable checks that every cost can ever be paid.
func (c *checker) affordable(l *RateLimitEntry, tokens int64, path string) {
	if l.Cost.Tokens > tokens {
		c.fault(path, tooDear(l.Cost.Tokens, tokens))
	}
	for _, route := range sortedKeys(l.Cost.Routes) {
		if cost := l.Cost.Routes[route]; cost > tokens {
			c.fault(path+"."+string(route), tooDear(cost, tokens))
		}
	}
}

func tooDear(cost, burst int64) string {
	return fmt.Sprintf("a cost of %d can never be paid from %d tokens at once; raise burst or lower the cost", cost, burst)
}

func (c *checker) charge(l *RateLimitEntry, path string) {
	if h := l.Cost.Header; h != "" && c.costHeader != "" && !strings.EqualFold(string(h), string(c.costHeader)) {
		c.fault(path+".cost.header", fmt.Sprintf("is another header than an earlier limit's, %s; a request has one cost", c.costHeader))
	} else if h != "" {
		c.costHeader = h
	}
	if l.Charge == ChargeAttempts && l.Cost.Header != "" {
		c.fault(path+".charge", "is ambiguous: attempts are charged before a request is served, and this cost is known only afterwards")
	}
}

func (c *checker) rateOverride(l *RateLimitEntry, o *RateOverride, path string) {
	if c.doubtful(path) {
		return
	}
	numbers := o.Rate != limit.Rate{} || o.Burst != 0
	switch {
	case o.Unlimited && numbers:
		c.fault(path+".unlimited", "is ambiguous: the override has numbers; leave one of them away")
	case o.Unlimited:
	case !numbers:
		c.fault(path, allowed("changes nothing", "rate, burst, or unlimited: true"))
	case l.Unlimited && o.Rate == limit.Rate{}:
		c.fault(path+".rate", "is missing, and the limit has none")
	default:
		r, burst := o.numbers(l)
		prepared := c.countable(l, r, burst, path)
		if most := l.Cost.most(); prepared != nil && most > prepared.Burst {
			c.fault(path, tooDear(most, prepared.Burst))
		}
	}
}

// numbers are the rate and the burst of an override, the burst 0 when it is
// the count of the rate.
func (o *RateOverride) numbers(l *RateLimitEntry) (limit.Rate, int64) {
	if o.Rate != (limit.Rate{}) {
		return o.Rate, o.Burst
	}
	if o.Burst != 0 {
		return l.Rate, o.Burst
	}
	return l.Rate, l.Burst
}

// override checks what overrides of both kinds of limits have in common.
func (c *checker) override(key pipeline.Owner, caller Caller, seen map[Caller]int, path string) {
	if !slices.Contains(key, pipeline.OwnerPart{Kind: pipeline.ByCaller}) {
		c.fault(path, "is for one caller, and key does not count callers apart; add caller to key")
	}
	if first, twice := seen[caller]; twice && caller != "" {
		c.fault(path+".caller", fmt.Sprintf("%q has an override already, %s[%d]", caller, parent(path), first))
		return
	}
	seen[caller] = len(seen)
}

func (c *checker) concurrencyLimits(s *ConcurrencyStage, stage string, names *limitNames) {
	for i := range s.Limits {
		l := &s.Limits[i]
		path := fmt.Sprintf("%s.limits[%d]", stage, i)
		names.takeSlots(string(l.Name), path)
		c.match(&l.Match.RequestMatch, path+".match")
		c.slots(l, path)
		seen := map[Caller]int{}
		for j := range l.Overrides {
			o := &l.Overrides[j]
			at := fmt.Sprintf("%s.overrides[%d]", path, j)
			c.override(l.Key, o.Caller, seen, at)
			c.maximum(o.Max, o.Unlimited, at)
		}
	}
}

func (c *checker) slots(l *ConcurrencyEntry, path string) {
	c.maximum(l.Max, l.Unlimited, path)
	if l.Min != 0 && (l.Max == nil || *l.Max == 0) {
		c.fault(path+".min", "has no meaning without a max of 1 or more")
	}
	if l.Max == nil || *l.Max == 0 || c.doubtful(path+".max", path+".lease") {
		return
	}
	if l.Min > *l.Max {
		c.fault(path+".min", fmt.Sprintf("%d is more than max (%d)", l.Min, *l.Max))
	}
	if _, err := store.NewSlots(string(l.Name), *l.Max, l.Lease); err != nil {
		c.fault(path+".max", cause(err))
	}
}

// maximum checks that a limit on slots, or an override, says one thing.
func (c *checker) maximum(most *int64, unlimited bool, path string) {
	if c.doubtful(path+".max", path+".unlimited") {
		return
	}
	switch {
	case unlimited && most != nil:
		c.fault(path+".unlimited", "is ambiguous: there is a max; leave one of them away")
	case !unlimited && most == nil:
		c.fault(path+".max", "is missing; allowed: a number from 0, or unlimited: true")
	}
}

// cause is the message of an error without the package that it comes from.
func cause(err error) string {
	_, message, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return err.Error()
	}
	return message
}
