package priority

import (
	"errors"
	"fmt"

	"github.com/plimsoll-go/plimsoll/match"
)

// Rule gives a class to the requests that it means.
type Rule struct {
	Class   Class
	Match   match.Rule
	Callers []string // caller ids as the identity names them; empty means every caller
}

// Rules classifies requests. The first rule that means a request counts, and
// Default holds where none does. Immutable and safe for concurrent use.
type Rules struct {
	rules   []compiledRule
	byRoute [][]int32 // route id → rules worth asking, in order
	table   *match.Table
	base    Class
}

type compiledRule struct {
	class   Class
	matcher *match.Matcher
	callers map[string]struct{}
}

// NewRules compiles rules against a table that holds their patterns. base is
// the class of requests that no rule means. The error names every fault.
func NewRules(table *match.Table, base Class, rules ...Rule) (*Rules, error) {
	compiled := &Rules{table: table, base: base}
	var errs []error
	var matchers []*match.Matcher
	for i, r := range rules {
		m, err := table.Compile(r.Match)
		if err != nil {
			errs = append(errs, fmt.Errorf("priority: rules[%d]: %w", i, err))
			continue
		}
		c := compiledRule{class: r.Class, matcher: m}
		if len(r.Callers) > 0 {
			c.callers = make(map[string]struct{}, len(r.Callers))
			for _, id := range r.Callers {
				c.callers[id] = struct{}{}
			}
		}
		compiled.rules = append(compiled.rules, c)
		matchers = append(matchers, m)
	}
	compiled.byRoute = table.Index(matchers)
	return compiled, errors.Join(errs...)
}

// Classify returns the class of a request of a caller.
func (r *Rules) Classify(s *match.Subject, caller string) Class {
	for _, i := range r.byRoute[r.table.Resolve(s)] {
		rule := &r.rules[i]
		if rule.callers != nil {
			if _, ok := rule.callers[caller]; !ok {
				continue
			}
		}
		if rule.matcher.Match(s) {
			return rule.class
		}
	}
	return r.base
}

// Claim applies a class that the client asked for to the class that the rules
// gave: it may lower it freely, and raise it up to the caller's ceiling.
func Claim(ruled, claimed, ceiling Class) Class {
	return min(claimed, max(ruled, ceiling))
}
