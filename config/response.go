package config

// RateLimitFields names a form of the fields that tell a client its limits.
type RateLimitFields string

// The forms.
const (
	Draft12  RateLimitFields = "draft-12" // RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-12
	Draft11  RateLimitFields = "draft-11" // the same fields with the parameters of draft 11
	Legacy   RateLimitFields = "legacy"   // X-RateLimit-Limit, -Remaining and -Reset
	NoFields RateLimitFields = "none"
)

// Response sets what clients are told of decisions.
type Response struct {
	// The fields that tell a client its rate limits, on admitted answers too:
	// RateLimit and RateLimit-Policy in the form of one of two drafts of the
	// standard, the older X-RateLimit triple, or none.
	RateLimitFields RateLimitFields `yaml:"ratelimit_fields" default:"draft-11"`
}
