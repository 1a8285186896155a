package config

import (
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// RateLimitStage is the request rate limiter.
type RateLimitStage struct {
	// The limits. A request meets every limit whose match it fits, and must
	// pass them all; a refusal by one charges none.
	Limits []RateLimitEntry `yaml:"limits" required:"true" items:"1..1000"`
}

// RateLimitEntry is how fast some requests may come.
type RateLimitEntry struct {
	// The limit's name in headers, metrics and the store; unique among the
	// rate limits of the file. What was spent belongs to the name.
	Name Name `yaml:"name" required:"true" example:"per-caller"`
	// Whose requests count together: those that have all these parts in
	// common. An empty list counts everybody's together.
	Key pipeline.Owner `yaml:"key" items:"0..4" default:"[caller]" example:"[address, route]"`
	// Which requests the limit is for.
	Match LimitMatch `yaml:"match" absent:"every request"`
	// How tokens are counted. token-bucket admits at most burst + rate·W in
	// any time W; fixed-window at most the rate's count in each window that
	// starts at a multiple of the period, and twice that across its boundary.
	Algorithm store.Algorithm `yaml:"algorithm" default:"token-bucket"`
	// How fast tokens come: count/period. A count of 0 refuses every request.
	Rate limit.Rate `yaml:"rate" absent:"needed, unless the limit is unlimited" example:"100/s"`
	// How many tokens may wait to be spent. Only for token-bucket.
	Burst int64 `yaml:"burst" range:"1..1000000000" absent:"the count of the rate" example:"500"`
	// How many tokens a request costs.
	Cost Cost `yaml:"cost" absent:"1 token a request" example:"{/v1/search: 5, /v1/export: 50}"`
	// When a request is charged: admitted charges only what no stage refuses;
	// attempts charges every request from this worker's memory, whatever
	// becomes of it.
	Charge Charge `yaml:"charge" default:"admitted"`
	// Whether the limit admits everything that it matches.
	Unlimited bool `yaml:"unlimited" default:"false"`
	// Other numbers for some callers.
	Overrides []RateOverride `yaml:"overrides" items:"0..100000" default:"[]"`
}

// RateOverride replaces the numbers of a rate limit for one caller.
type RateOverride struct {
	// The caller, as identity names it: the value of the header, or the address.
	Caller Caller `yaml:"caller" required:"true" example:"big-customer"`
	// Its rate.
	Rate limit.Rate `yaml:"rate" absent:"the limit's rate" example:"1000/s"`
	// Its burst.
	Burst int64 `yaml:"burst" range:"1..1000000000" absent:"the count of its rate; the limit's burst if it has no rate of its own" example:"5000"`
	// Whether it has no limit.
	Unlimited bool `yaml:"unlimited" default:"false"`
}

// LimitMatch says which requests a limit is for. What is absent does not
// restrict; what is given must all agree.
type LimitMatch struct {
	RequestMatch `yaml:",inline"`
	// The priority classes; any of them.
	Classes []priority.Class `yaml:"class" single:"true" items:"1..4" absent:"every class" example:"[low, normal]"`
}

// Charge says when a request is charged.
type Charge string

// The charges.
const (
	ChargeAdmitted Charge = "admitted" // when no stage refuses it
	ChargeAttempts Charge = "attempts" // always, from this worker's memory
)

// ConcurrencyStage is the concurrent requests limiter.
type ConcurrencyStage struct {
	// The limits. A request meets every limit whose match it fits, and must
	// pass them all.
	Limits []ConcurrencyEntry `yaml:"limits" required:"true" items:"1..1000"`
}

// ConcurrencyEntry is how many of some requests may be in flight at once.
type ConcurrencyEntry struct {
	// The limit's name in headers, metrics and the store; unique among the
	// concurrency limits of the file. What is held belongs to the name.
	Name Name `yaml:"name" required:"true" example:"per-caller"`
	// Whose requests count together: those that have all these parts in
	// common. An empty list counts everybody's together.
	Key pipeline.Owner `yaml:"key" items:"0..4" default:"[caller]" example:"[caller]"`
	// Which requests the limit is for.
	Match LimitMatch `yaml:"match" absent:"every request"`
	// How many requests may be in flight at once. 0 refuses every request.
	Max *int64 `yaml:"max" range:"0..1000000" absent:"needed, unless the limit is unlimited" example:"20"`
	// How far the cap may fall by itself while requests end as overload
	// signals, such as time-outs; it rises to max again. Callers with an
	// override keep theirs.
	Min int64 `yaml:"min" range:"1..1000000" absent:"the cap is fixed at max" example:"5"`
	// How long a slot is held for a worker that has fallen silent. Requests
	// that run longer renew it.
	Lease time.Duration `yaml:"lease" default:"10s" range:"1s..1h"`
	// How many streams, WebSockets and other long-lived requests may be open
	// beside.
	MaxStreams int64 `yaml:"max_streams" range:"1..10000000" absent:"five times max" example:"100"`
	// Whether the limit admits everything that it matches.
	Unlimited bool `yaml:"unlimited" default:"false"`
	// Other numbers for some callers.
	Overrides []ConcurrencyOverride `yaml:"overrides" items:"0..100000" default:"[]"`
}

// ConcurrencyOverride replaces the numbers of a concurrency limit for one caller.
type ConcurrencyOverride struct {
	// The caller, as identity names it: the value of the header, or the address.
	Caller Caller `yaml:"caller" required:"true" example:"big-customer"`
	// How many requests it may have in flight at once. 0 refuses all.
	Max *int64 `yaml:"max" range:"0..1000000" absent:"needed, unless the caller is unlimited" example:"200"`
	// Whether it has no limit.
	Unlimited bool `yaml:"unlimited" default:"false"`
}
