package config

import (
	"fmt"
	"slices"
	"strings"

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
