package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
)

// Config sets a Transport. The zero value lacks the limiter.
type Config struct {
	// Limiter counts the calls. Its keys are those of Key. Required.
	Limiter *ratelimit.Limiter
	// Base sends the calls. Default: http.DefaultTransport.
	Base http.RoundTripper
	// Key says which calls share a quota, and what the remote side's pauses
	// are kept under. It must not change the request. Default: the host of its
	// URL, with the port if it names one.
	Key func(*http.Request) string
	// Cost is what a call costs, in tokens; below 1 counts as 1. It must not
	// change the request or read its body. Default: 1.
	Cost func(*http.Request) int64
	// Mode says what becomes of a call that may not go yet. Default: Wait.
	Mode Mode
	// MaxWaiters is how many calls may wait for one key, 1 or more; the next
	// fails with ErrWaiters. Default: 1,000.
	MaxWaiters int
	// MaxHold is the longest pause that the remote side can ask for; a longer
	// one counts as this. Above 0. Default: 1 hour.
	MaxHold time.Duration
	// MaxHolds is for how many keys pauses are remembered, 1 or more. Beyond
	// it the least recently used is forgotten; the next call of that key goes,
	// and the answer says it again. Default: 10,000.
	MaxHolds int
}

// Mode says what becomes of a call that may not go yet.
type Mode uint8

// The modes.
const (
	Wait     Mode = iota // it waits, first come first served, as long as its context allows
	FailFast             // it fails with a *QuotaError
)

// prepare fills in the defaults, and reports every fault.
func (c *Config) prepare() error {
	var errs []error
	if c.Limiter == nil {
		errs = append(errs, errors.New("outbound: Limiter is required"))
	}
	if c.Mode > FailFast {
		errs = append(errs, fmt.Errorf("outbound: Mode must be Wait or FailFast, got %d", c.Mode))
	}
	if c.MaxWaiters < 0 || c.MaxHolds < 0 || c.MaxHold < 0 {
		errs = append(errs, fmt.Errorf("outbound: MaxWaiters %d, MaxHolds %d and MaxHold %s must not be negative", c.MaxWaiters, c.MaxHolds, c.MaxHold))
	}
	if c.Base == nil {
		c.Base = http.DefaultTransport
	}
	if c.Key == nil {
		c.Key = host
	}
	if c.Cost == nil {
		c.Cost = func(*http.Request) int64 { return 1 }
	}
	c.MaxWaiters = defaulted(c.MaxWaiters, 1000)
	c.MaxHold = defaulted(c.MaxHold, time.Hour)
	c.MaxHolds = defaulted(c.MaxHolds, 10_000)
	return errors.Join(errs...)
}

func host(r *http.Request) string {
	if r.URL == nil {
		return "" // the base says what is wrong with the request
	}
	return strings.ToLower(r.URL.Host)
}

func defaulted[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}
