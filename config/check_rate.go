package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

// tokens checks the numbers of a rate limit.
func (c *checker) tokens(l *RateLimitEntry, path string) {
	if c.doubtful(path+".rate", path+".quota", path+".zone", path+".burst", path+".delay", path+".nodelay", path+".cost", path+".algorithm", path+".unlimited") {
		return
	}
	_, named := c.source.places[path+".algorithm"]
	if key, wrong := l.contradiction(named); wrong != "" {
		c.fault(path+"."+key, wrong)
		return
	}
	if prepared := c.countable(l, l.rate(), l.Burst, path); prepared != nil {
		c.affordable(l, prepared.Burst, path+".cost")
	}
}

// contradiction is the first key that does not go with the others of a limit,
// and why. named says that the limit names its algorithm, which has a default.
func (l *RateLimitEntry) contradiction(named bool) (key, wrong string) {
	rate, quota := l.Rate != limit.Rate{}, l.Quota != Quota{}
	const choose = "; leave one of them away"
	switch {
	case l.Unlimited && rate:
		return "unlimited", "is ambiguous: the limit has a rate" + choose
	case l.Unlimited && quota:
		return "unlimited", "is ambiguous: the limit has a quota" + choose
	case l.Unlimited && l.Burst != 0:
		return "unlimited", "is ambiguous: the limit has a burst" + choose
	case rate && quota:
		return "quota", "is ambiguous: the limit has a rate" + choose
	case l.Zone != "" && !quota:
		return "zone", "has no meaning without a quota; leave it away"
	case !rate && !quota && !l.Unlimited:
		return "rate", allowed("is missing", scalars[rateType].right+", or a quota such as 5000/day, or unlimited: true")
	case quota && l.Algorithm != store.FixedWindow && (named || l.Algorithm != store.TokenBucket):
		return "algorithm", fmt.Sprintf("a quota is counted by fixed-window, not by %s; leave it away", l.Algorithm)
	case quota && l.Burst != 0:
		return "burst", "has no meaning for a quota; leave it away"
	case (l.Delay != 0 || l.NoDelay) && l.Algorithm != store.LeakyBucket:
		return l.delayKey(), fmt.Sprintf("has no meaning for %s, only for leaky-bucket; leave it away", l.Algorithm)
	case l.NoDelay && l.Delay != 0:
		return "nodelay", "is ambiguous: the limit has a delay" + choose
	case l.Delay > l.Burst:
		return "delay", fmt.Sprintf("%d is more than burst (%d)", l.Delay, l.Burst)
	}
	return "", ""
}

func (l *RateLimitEntry) delayKey() string {
	if l.Delay != 0 {
		return "delay"
	}
	return "nodelay"
}

// longestHold bounds how long a leaky bucket may hold a request: whoever asks
// through a proxy has seldom more patience.
const longestHold = time.Minute

// countable checks that an algorithm can count a rate and a burst, and returns
// what it counts by; nil when it cannot, or need not because all is refused or
// nothing.
func (c *checker) countable(l *RateLimitEntry, r limit.Rate, burst int64, path string) *store.Limit {
	if burst != 0 && l.Algorithm != store.TokenBucket && l.Algorithm != store.LeakyBucket {
		c.fault(path+".burst", fmt.Sprintf("has no meaning for %s; leave it away", l.Algorithm))
		return nil
	}
	if r.Count == 0 {
		return nil
	}
	counted := l.config()
	counted.Charge = ratelimit.Admitted // how requests are charged is checked apart
	prepared, err := counted.Counted(r, burst)
	if err != nil {
		c.fault(path+"."+l.countKey(), cause(err))
		return nil
	}
	if held := prepared.Leaky.LongestDelay(); l.Algorithm == store.LeakyBucket && held > longestHold {
		c.fault(path+".burst", fmt.Sprintf("the last of a burst of %d at %s would be held for %s, and no request is held for more than %s; "+
			"lower burst, raise delay, or set nodelay: true", burst, r, held, longestHold))
		return nil
	}
	if l.Charge != ChargeAttempts { // which this worker's memory counts
		c.keepable(prepared, path)
	}
	return prepared
}

// countKey is the key that says how many tokens there are.
func (l *RateLimitEntry) countKey() string {
	if l.Quota != (Quota{}) {
		return "quota"
	}
	return "rate"
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
	return fmt.Sprintf("a cost of %d can never be paid from %d tokens at once; allow more at once or lower the cost", cost, burst)
}

func (c *checker) charge(l *RateLimitEntry, path string) {
	if h := l.Cost.Header; h != "" && c.costHeader != "" && !strings.EqualFold(string(h), string(c.costHeader)) {
		c.fault(path+".cost.header", fmt.Sprintf("is another header than an earlier limit's, %s; a request has one cost", c.costHeader))
	} else if h != "" {
		c.costHeader = h
	}
	switch {
	case l.Charge != ChargeAttempts:
	case l.Cost.Header != "":
		c.fault(path+".charge", "is ambiguous: attempts are charged before a request is served, and this cost is known only afterwards")
	case l.Algorithm == store.LeakyBucket && !l.NoDelay && l.Burst > l.Delay:
		c.fault(path+".charge", "attempts are charged from memory while a request is looked at, and cannot be held; set nodelay: true")
	}
}

func (c *checker) rateOverride(l *RateLimitEntry, o *RateOverride, path string) {
	if c.doubtful(path) {
		return
	}
	if o.Unlimited && o.numbered() {
		c.fault(path+".unlimited", "is ambiguous: the override has numbers; leave one of them away")
		return
	}
	if key, wrong := o.misfit(l); wrong != "" {
		c.fault(strings.TrimSuffix(path+"."+key, "."), wrong)
		return
	}
	r, burst := o.numbers(l)
	if o.Unlimited {
		return
	}
	prepared := c.countable(l, r, burst, path)
	if most := l.Cost.most(); prepared != nil && most > prepared.Burst {
		c.fault(path, tooDear(most, prepared.Burst))
	}
}

// numbered reports whether an override has any numbers of its own.
func (o *RateOverride) numbered() bool {
	return o.Rate != limit.Rate{} || o.Quota != Quota{} || o.Burst != 0
}

// misfit is the key of an override that does not go with its limit, and why.
func (o *RateOverride) misfit(l *RateLimitEntry) (key, wrong string) {
	quota := l.Quota != Quota{}
	switch {
	case o.Unlimited:
	case !o.numbered():
		return "", allowed("changes nothing", "rate, quota, burst, or unlimited: true")
	case o.Quota != Quota{} && !quota:
		return "quota", "the limit has no quota; give a rate"
	case quota && o.Rate != limit.Rate{}:
		return "rate", "the limit has a quota; give a quota"
	case quota && o.Burst != 0:
		return "burst", "has no meaning for a quota; leave it away"
	case quota && o.Quota.Unit != l.Quota.Unit:
		return "quota", fmt.Sprintf("counts by the %s, and the limit by the %s", o.Quota.Unit, l.Quota.Unit)
	case !quota && l.Unlimited && o.Rate == limit.Rate{}:
		return "rate", "is missing, and the limit has none"
	}
	return "", ""
}

// numbers are the rate and the burst of an override, the burst 0 when it is
// the count of the rate, or nothing.
func (o *RateOverride) numbers(l *RateLimitEntry) (limit.Rate, int64) {
	switch {
	case o.Quota != Quota{}:
		return o.Quota.rate(), 0
	case o.Rate == limit.Rate{} && o.Burst != 0:
		return l.rate(), o.Burst
	case o.Rate == limit.Rate{}:
		return l.rate(), l.Burst
	case o.Burst == 0 && l.Algorithm == store.LeakyBucket:
		return o.Rate, l.Burst
	}
	return o.Rate, o.Burst
}
