package config

import (
	"fmt"
	"net/netip"
	"strings"
)

// identity checks that each source has what it needs.
func (c *checker) identity() {
	for i, s := range c.Identity.Caller {
		if s == subject && c.Server.TLS.ClientCA == "" && !c.doubtful("server.tls") {
			c.fault(fmt.Sprintf("identity.caller[%d]", i), "needs server.tls.client_ca: nobody else verifies subjects")
		}
		if strings.HasPrefix(string(s), trustedHeader) && len(c.Identity.TrustedProxies) == 0 && !c.doubtful("identity.trusted_proxies") {
			c.fault(fmt.Sprintf("identity.caller[%d]", i), "needs identity.trusted_proxies: from anybody else the header is not believed")
		}
	}
}

// callers checks that nobody can pass for a caller that the file names. A
// client that sends a credential is called what it sends, so beside header:Name
// a name is only safe if no better source could have found it.
func (c *checker) callers() {
	claimable, verified := Source(""), Source("")
	for _, s := range c.Identity.Caller {
		switch {
		case strings.HasPrefix(string(s), "header:"):
			claimable = s
		case s != "address":
			verified = s
		}
	}
	if claimable == "" || c.doubtful("identity") {
		return
	}
	for _, named := range c.namedCallers() {
		if better := betterSource(named.caller, verified); better != "" {
			c.fault(named.path, fmt.Sprintf("%q is not safe to name: whoever sends it by %s passes for the one that %s finds; leave one of them out of identity.caller",
				named.caller, claimable, better))
		}
	}
}

// betterSource is the source that a caller is meant to be found by, if that is
// not the one by which anybody may claim to be it.
func betterSource(caller Caller, verified Source) Source {
	_, notAddress := netip.ParseAddr(string(caller))
	if _, err := netip.ParsePrefix(string(caller)); notAddress == nil || err == nil {
		return "address"
	}
	return verified
}

// namedCaller is a caller that the file names, and where.
type namedCaller struct {
	caller Caller
	path   string
}

// namedCallers lists the callers for which the file has a rule, a ceiling or
// numbers of their own.
func (f *File) namedCallers() (list []namedCaller) {
	for i := range f.Priority.Rules {
		for _, caller := range f.Priority.Rules[i].Match.Callers {
			list = append(list, namedCaller{caller, fmt.Sprintf("priority.rules[%d].match.caller", i)})
		}
	}
	for i, o := range f.Priority.Ceilings {
		list = append(list, namedCaller{o.Caller, fmt.Sprintf("priority.ceilings[%d].caller", i)})
	}
	for i := range f.Stages {
		for _, o := range f.Stages[i].overridden() {
			list = append(list, namedCaller{o.caller, fmt.Sprintf("stages[%d].%s", i, o.path)})
		}
	}
	return list
}

// overridden lists the callers that have numbers of their own in a stage.
func (s *Stage) overridden() (list []namedCaller) {
	const path = "limits[%d].overrides[%d].caller"
	if s.RateLimit != nil {
		for i, l := range s.RateLimit.Limits {
			for j, o := range l.Overrides {
				list = append(list, namedCaller{o.Caller, fmt.Sprintf(path, i, j)})
			}
		}
	}
	if s.Concurrency != nil {
		for i, l := range s.Concurrency.Limits {
			for j, o := range l.Overrides {
				list = append(list, namedCaller{o.Caller, fmt.Sprintf(path, i, j)})
			}
		}
	}
	return list
}
