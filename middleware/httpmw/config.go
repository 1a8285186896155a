package httpmw

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Config says how requests are described to the pipeline, and how refusals are
// told to clients. The zero value is usable.
type Config struct {
	// Identity finds out who sends a request. Default: the address of the
	// connection.
	Identity *identity.Identity
	// Subject tells who a request was verified to be from. It is asked when
	// subject is among the sources of Identity.
	Subject func(*http.Request) (name string, ok bool)

	// Rules give a request its class. Default: all are Normal.
	Rules *priority.Rules
	// Ceiling is the class up to which a caller may raise its requests by the
	// class header. It must not keep the caller. Default: nobody raises.
	Ceiling func(*pipeline.Caller) priority.Class
	// Propagation names the headers in which a client may claim a class and
	// tell how long it waits. Default: neither.
	Propagation Propagation

	// Cost is what a request costs, in tokens. Below 0 it counts as 0, which
	// means 1. Default: 1.
	Cost func(*http.Request) int64
	// CostHeader names a header of the response in which the handler says, in
	// tokens, what the request cost in the end. It is not passed on to the
	// client. Default: none.
	CostHeader string

	// Fields is the form in which clients are told their limits. Default:
	// Draft11.
	Fields Fields
	// Status overrides the status of refusals per kind of stage, such as
	// "workershed": 429 or 503. Default: see RefusalOf.
	Status map[string]int

	// Tracer ties decisions to traces. Default: nobody does, and it costs
	// nothing.
	Tracer Tracer

	// Exempt are requests that the pipeline does not see: health probes. They
	// have to be spelled plainly: a path that has to be cleaned or decoded
	// first is never exempt. Default: none.
	Exempt []*match.Matcher
	// ExemptInFlight is how many exempt requests may run at once, 1 or more.
	// Default: 32.
	ExemptInFlight int
}

// settings is a checked Config. It is immutable.
type settings struct {
	Config
}

func (c Config) compile() (*settings, error) {
	var errs []error
	if c.Identity == nil {
		byAddress, err := identity.New(identity.Config{})
		errs = append(errs, err)
		c.Identity = byAddress
	}
	if c.Identity != nil && c.Identity.UsesSubject() && c.Subject == nil {
		errs = append(errs, errors.New("httpmw: the identity goes by subject, and Subject is not set"))
	}
	for kind, status := range c.Status {
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			errs = append(errs, fmt.Errorf("httpmw: Status[%q] must be 429 or 503, got %d", kind, status))
		}
	}
	for _, h := range []struct {
		field string
		name  *string
	}{
		{"Propagation.ClassHeader", &c.Propagation.ClassHeader},
		{"Propagation.TimeoutHeader", &c.Propagation.TimeoutHeader},
		{"CostHeader", &c.CostHeader},
	} {
		if err := checkHeader(*h.name); err != nil {
			errs = append(errs, fmt.Errorf("httpmw: %s: %w", h.field, err))
		}
		*h.name = http.CanonicalHeaderKey(*h.name)
	}
	if c.Fields > NoFields {
		errs = append(errs, fmt.Errorf("httpmw: Fields: unknown form %d", c.Fields))
	}
	if c.ExemptInFlight < 0 {
		errs = append(errs, fmt.Errorf("httpmw: ExemptInFlight must be 1 or more, got %d", c.ExemptInFlight))
	}
	if c.ExemptInFlight == 0 {
		c.ExemptInFlight = 32
	}
	return &settings{c}, errors.Join(errs...)
}

// checkHeader refuses what is no header's name, and underscores: many servers
// read X_Name and X-Name as the same header, so that one could pass for the
// other.
func checkHeader(name string) error {
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' {
			return fmt.Errorf("header name %q: allowed are letters, digits and -", name)
		}
	}
	return nil
}
