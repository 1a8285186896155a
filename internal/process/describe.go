package process

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// describe says at the start what protects what: a page for people, records
// for machines.
func (p *Process) describe(public, operators net.Addr) {
	source := "configuration: " + BuiltIn
	if p.config.Path != "" {
		source = "configuration: " + p.config.Path
	}
	lines := []string{
		fmt.Sprintf("plimsoll %s protects %s", p.config.Version, p.began.Upstream),
		"listening on " + public.String(),
		fmt.Sprintf("operators at http://%s: /healthz /readyz /metrics /status", operators),
		source,
		"store: " + p.storeLine(),
	}
	if pushed := p.observing.settings.String(); pushed != "" {
		lines = append(lines, "pushed by OTLP: "+pushed)
	}
	for i := range p.began.Stages {
		lines = append(lines, stageLine(i+1, &p.began.Stages[i]))
	}
	for _, line := range lines {
		p.say(line)
	}
	for _, warning := range Warnings(p.began) {
		p.log.Warn(warning)
	}
}

func (p *Process) say(line string) {
	if p.began.Log.Format == config.JSON {
		p.log.Info(line)
		return
	}
	fmt.Fprintln(p.config.Log, line)
}

func stageLine(n int, s *config.Stage) string {
	return fmt.Sprintf("  %d %-13s %-8s on fault: %-7s %s", n, s.Label(), s.Mode, s.OnFault, limitsOf(s))
}

// limitsOf says in a few words what a stage limits.
func limitsOf(s *config.Stage) string {
	var words []string
	switch {
	case s.RateLimit != nil:
		for i := range s.RateLimit.Limits {
			words = append(words, rateOf(&s.RateLimit.Limits[i]))
		}
	case s.Concurrency != nil:
		for i := range s.Concurrency.Limits {
			words = append(words, slotsOf(&s.Concurrency.Limits[i]))
		}
	case s.FleetShed != nil:
		words = append(words, fmt.Sprintf("%g%% kept for critical", s.FleetShed.Reserve*100))
	case s.WorkerShed != nil:
		words = append(words, fmt.Sprintf("%d in flight", s.WorkerShed.MaxInFlight))
	}
	return strings.Join(words, ", ")
}

func rateOf(l *config.RateLimitEntry) string {
	if l.Unlimited {
		return string(l.Name) + " unlimited"
	}
	words := fmt.Sprintf("%s %v", l.Name, l.Rate)
	if l.Quota != (config.Quota{}) {
		words = fmt.Sprintf("%s %v in %v", l.Name, l.Quota, l.Zone.Location())
	}
	if l.Algorithm > store.FixedWindow { // those that are the usual ones go without saying
		words += " " + l.Algorithm.String()
	}
	return words
}

func slotsOf(l *config.ConcurrencyEntry) string {
	if l.Max == nil {
		return string(l.Name) + " unlimited"
	}
	return fmt.Sprintf("%s %d in flight", l.Name, *l.Max)
}

// Warnings says what is allowed and probably not meant.
func Warnings(f *config.File) (list []string) {
	warn := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	critical := f.Priority.Default == priority.Critical ||
		slices.ContainsFunc(f.Priority.Rules, func(r config.Rule) bool { return r.Class == priority.Critical })
	for i := range f.Stages {
		s := &f.Stages[i]
		warn(s.Mode != pipeline.Enforce, "stage %s is in mode %s: it refuses nothing", s.Label(), s.Mode)
		warn(s.OnFault == pipeline.Open, "stage %s admits everything while it cannot decide", s.Label())
		warn(s.FleetShed != nil && s.FleetShed.Reserve > 0 && !critical,
			"no rule makes a request critical, so what %s keeps for critical traffic serves nobody: add a rule to priority.rules", s.Label())
	}
	warn(f.Admin.BeyondLoopback && f.Admin.TLS.Cert == "", "the admin listener %s can be reached from other machines, and tokens travel in the clear: set admin.tls", f.Admin.Listen)
	warn(f.Store.Driver == config.RedisDriver && f.Store.Redis.TLS.Unverified, "the certificate of the store is not verified: whoever answers in its place hears the password")
	warn(f.Proxy.TLS.Unverified, "the upstream's certificate is not verified")
	return list
}
