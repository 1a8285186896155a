package config

import (
	"errors"
	"net/http"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// middleware is how requests are described and refusals answered.
func (f *File) middleware(table *match.Table) (httpmw.Config, error) {
	var errs [4]error
	c := httpmw.Config{
		Subject: certificateSubject, Ceiling: f.Priority.ceiling(), CostHeader: f.costHeader(),
		Status: f.statuses(), ExemptInFlight: f.Exempt.MaxInFlight,
		Propagation: httpmw.Propagation{
			ClassHeader: f.Priority.ClassHeader.Name(), Scheme: f.Priority.ClassScheme.scheme(),
			TimeoutHeader: f.Priority.TimeoutHeader.Name(),
		},
	}
	c.Identity, errs[0] = f.Identity.build()
	c.Rules, errs[1] = f.Priority.rules(table)
	c.Fields, errs[2] = httpmw.ParseFields(string(f.Response.RateLimitFields))
	c.Exempt, errs[3] = f.Exempt.matchers(table)
	return c, errors.Join(errs[:]...)
}

func (i *Identity) build() (*identity.Identity, error) {
	c := identity.Config{TrustedProxies: i.TrustedProxies, Field: i.Forwarded, IPv6Prefix: i.IPv6Prefix}
	for _, s := range i.Caller {
		c.Sources = append(c.Sources, string(s))
	}
	return identity.New(c)
}

// certificateSubject is who a verified client certificate is from: its first
// name of a kind that is made for programs, or its common name.
func certificateSubject(r *http.Request) (name string, ok bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return "", false
	}
	leaf := r.TLS.VerifiedChains[0][0]
	switch {
	case len(leaf.URIs) > 0:
		return leaf.URIs[0].String(), true
	case len(leaf.DNSNames) > 0:
		return leaf.DNSNames[0], true
	}
	return leaf.Subject.CommonName, leaf.Subject.CommonName != ""
}

func (p *Priority) rules(table *match.Table) (*priority.Rules, error) {
	rules := make([]priority.Rule, len(p.Rules))
	for i := range p.Rules {
		rules[i] = p.Rules[i].config()
	}
	return priority.NewRules(table, p.Default, rules...)
}

func (r *Rule) config() priority.Rule {
	made := priority.Rule{Class: r.Class, Match: r.Match.rule()}
	for _, caller := range r.Match.Callers {
		made.Callers = append(made.Callers, string(caller))
	}
	return made
}

func (p *Priority) ceiling() func(*pipeline.Caller) priority.Class {
	own := make(map[string]priority.Class, len(p.Ceilings))
	for _, c := range p.Ceilings {
		own[string(c.Caller)] = c.Class
	}
	others := p.Ceiling
	return func(c *pipeline.Caller) priority.Class {
		if class, ok := own[c.Name]; ok {
			return class
		}
		return others
	}
}

func (s Scheme) scheme() priority.Scheme {
	if s == SchemeGoogle {
		return priority.Google
	}
	return priority.Plimsoll
}

func (e *Exempt) matchers(table *match.Table) (list []*match.Matcher, err error) {
	for i := range e.Match {
		m, fault := table.Compile(e.Match[i].rule())
		list, err = append(list, m), errors.Join(err, fault)
	}
	return list, err
}

// costHeader is the header in which handlers say what a request cost; Validate
// has seen to it that there is one at most.
func (f *File) costHeader() string {
	for i := range f.Stages {
		if s := f.Stages[i].RateLimit; s != nil {
			for j := range s.Limits {
				if h := s.Limits[j].Cost.Header; h != "" {
					return string(h)
				}
			}
		}
	}
	return ""
}

// statuses are the statuses of refusals by kind of stage, where the file sets
// them.
func (f *File) statuses() map[string]int {
	m := map[string]int{}
	for _, s := range f.Stages {
		if s.Status != 0 {
			m[string(s.Kind)] = s.Status
		}
	}
	return m
}
