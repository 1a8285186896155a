package config

import (
	"fmt"
	"net/http"

	"github.com/plimsoll-go/plimsoll/match"
)

// rules checks the rules of priority, among them that each can count: none
// stands behind one that means every request, or the same requests.
func (c *checker) rules() {
	everything := fmt.Sprint(RuleMatch{})
	seen := map[string]int{}
	for i := range c.Priority.Rules {
		m := &c.Priority.Rules[i].Match
		path := fmt.Sprintf("priority.rules[%d]", i)
		c.match(&m.RequestMatch, path+".match")
		if c.doubtful(path) {
			continue
		}
		first, hidden := seen[everything]
		if !hidden {
			first, hidden = seen[fmt.Sprint(*m)]
		}
		if hidden {
			c.fault(path, fmt.Sprintf("never counts: priority.rules[%d] means the same requests and comes first", first))
			continue
		}
		seen[fmt.Sprint(*m)] = i
	}
}

func (c *checker) ceilings() {
	seen := map[Caller]int{}
	for i, ceiling := range c.Priority.Ceilings {
		if first, twice := seen[ceiling.Caller]; twice {
			c.fault(fmt.Sprintf("priority.ceilings[%d].caller", i),
				fmt.Sprintf("%q has a ceiling already, priority.ceilings[%d]", ceiling.Caller, first))
			continue
		}
		seen[ceiling.Caller] = i
	}
}

// exempt checks that exemptions exempt some requests, and not all.
func (c *checker) exempt() {
	for i := range c.Exempt.Match {
		m := &c.Exempt.Match[i]
		path := fmt.Sprintf("exempt.match[%d]", i)
		c.match(m, path)
		if fmt.Sprint(*m) == fmt.Sprint(RequestMatch{}) && !c.doubtful(path) {
			c.fault(path, "is every request, and then no stage sees any; set their modes to off for that")
		}
	}
}

// match checks what a rule or a limit asks of requests.
func (c *checker) match(m *RequestMatch, path string) {
	if m.Host != "" && m.Path != "" && m.Path[0] != '/' {
		c.fault(path+".path", fmt.Sprintf("%q is ambiguous: it names a host, and so does host", m.Path))
	}
	seen := map[string]HeaderName{}
	for _, name := range sortedKeys(m.Header) {
		at := path + ".header." + string(name)
		canonical := http.CanonicalHeaderKey(string(name))
		if first, twice := seen[canonical]; twice {
			c.fault(at, fmt.Sprintf("is ambiguous: %s is the same header", first))
		}
		seen[canonical] = name
		if canonical == "Host" {
			c.fault(at, "the host of a request is none of its headers; use host")
		}
		if m.Header[name] == "" {
			c.fault(at, "has no value to compare with; allowed: a value, a beginning and *, or * alone for any value")
		}
	}
}

// rule is a match as the request path knows it.
func (m *RequestMatch) rule() match.Rule {
	r := match.Rule{Host: string(m.Host), Path: string(m.Path)}
	for _, method := range m.Methods {
		r.Methods = append(r.Methods, string(method))
	}
	if len(m.Header) > 0 {
		r.Header = make(map[string]string, len(m.Header))
		for name, value := range m.Header {
			r.Header[http.CanonicalHeaderKey(string(name))] = value
		}
	}
	return r
}

// located is a path pattern and where the file holds it.
type located struct{ pattern, path string }

// locations are the patterns of a file.
type locations []located

func (l *locations) add(pattern Pattern, path string, index ...any) {
	if pattern != "" {
		*l = append(*l, located{string(pattern), fmt.Sprintf(path, index...)})
	}
}

// located lists every pattern of a file, in its order.
func (f *File) located() (list locations) {
	for i := range f.Priority.Rules {
		list.add(f.Priority.Rules[i].Match.Path, "priority.rules[%d].match.path", i)
	}
	for i := range f.Exempt.Match {
		list.add(f.Exempt.Match[i].Path, "exempt.match[%d].path", i)
	}
	for i := range f.Stages {
		f.Stages[i].locate(&list, i)
	}
	return list
}

// locate adds the patterns of the i-th stage.
func (s *Stage) locate(list *locations, i int) {
	s.each(func(m *LimitMatch, cost *Cost, at string) {
		list.add(m.Path, "stages[%d]%s.match.path", i, at)
		for _, route := range sortedKeys(cost.Routes) {
			list.add(route, "stages[%d]%s.cost.%s", i, at, route)
		}
	})
	if s.WorkerShed != nil {
		for j, pattern := range s.WorkerShed.Exempt {
			list.add(pattern, "stages[%d].exempt[%d]", i, j)
		}
	}
}

// each visits the matches and costs of a stage's limits.
func (s *Stage) each(visit func(m *LimitMatch, cost *Cost, path string)) {
	if s.RateLimit != nil {
		for i := range s.RateLimit.Limits {
			l := &s.RateLimit.Limits[i]
			visit(&l.Match, &l.Cost, fmt.Sprintf(".limits[%d]", i))
		}
	}
	if s.Concurrency != nil {
		for i := range s.Concurrency.Limits {
			visit(&s.Concurrency.Limits[i].Match, &Cost{}, fmt.Sprintf(".limits[%d]", i))
		}
	}
}

// table is the routes of all patterns of a file.
func (f *File) table() (*match.Table, error) {
	var patterns []string
	for _, l := range f.located() {
		patterns = append(patterns, l.pattern)
	}
	return match.NewTable(patterns...)
}

// patterns checks that every path belongs to one route. The table says whether
// it does; when not, pairs find out where.
func (c *checker) patterns() {
	if _, err := c.table(); err == nil {
		return
	}
	list := c.located()
	for i, l := range list {
		if wrong := alone(l.pattern); wrong != "" {
			c.fault(l.path, wrong)
			continue
		}
		if wrong := beside(l.pattern, list[:i]); wrong != "" {
			c.fault(l.path, wrong)
		}
	}
}

// alone is what is wrong with a pattern by itself, or "".
func alone(pattern string) string {
	if _, err := match.NewTable(pattern); err != nil {
		return cause(err)
	}
	return ""
}

// beside is what is wrong with a pattern beside earlier ones, or "".
func beside(pattern string, others locations) string {
	for _, o := range others {
		if _, err := match.NewTable(o.pattern, pattern); err != nil && alone(o.pattern) == "" {
			return fmt.Sprintf("is ambiguous beside %s: %s", o.path, cause(err))
		}
	}
	return ""
}
