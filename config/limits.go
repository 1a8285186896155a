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
	// any time W. fixed-window admits at most the rate's count in each window
	// that starts at a multiple of the period, and twice that across its
	// boundary; sliding-window weighs two such windows, for compatibility with
	// others. sliding-log is exact in every window, for counts up to 1000;
	// strict-window never admits more than the count in any window, and may be
	// a fifteenth of it too strict. leaky-bucket is NGINX's limit_req to the
	// digit. docs/algorithms.md says when to use which.
	Algorithm store.Algorithm `yaml:"algorithm" default:"token-bucket"`
	// How fast tokens come: count/period. A count of 0 refuses every request.
	Rate limit.Rate `yaml:"rate" absent:"needed, unless the limit has a quota or is unlimited" example:"100/s"`
	// How many tokens there are in each day, week or month of the calendar, in
	// place of a rate: count/day, count/week or count/month. Weeks begin on
	// Monday, and each part ends when the next one begins in the zone. Counts
	// as fixed-window does. A count of 0 refuses every request.
	Quota Quota `yaml:"quota" absent:"the limit has a rate" example:"100000/month"`
	// The place whose calendar a quota follows, as the IANA names it.
	Zone Zone `yaml:"zone" absent:"UTC" example:"Europe/Berlin"`
	// How many tokens may wait to be spent by token-bucket. For leaky-bucket,
	// how many requests may come at once beside the first. The others have none.
	Burst int64 `yaml:"burst" range:"1..1000000000" absent:"the count of the rate; 0 for leaky-bucket" example:"500"`
	// For leaky-bucket, how many requests of the burst pass without being
	// held; those beyond it wait until the bucket has leaked so far.
	Delay int64 `yaml:"delay" range:"1..1000000000" absent:"every request of the burst waits for its turn" example:"10"`
	// Whether leaky-bucket passes its whole burst without holding any of it.
	NoDelay bool `yaml:"nodelay" default:"false"`
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
	// Its quota, where the limit has one, by the same part of the calendar.
	Quota Quota `yaml:"quota" absent:"the limit's quota" example:"5000000/month"`
	// Its burst.
	Burst int64 `yaml:"burst" range:"1..1000000000" absent:"the count of its rate; the limit's burst if it has no rate of its own, and for leaky-bucket" example:"5000"`
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
