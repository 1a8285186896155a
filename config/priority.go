package config

import "github.com/plimsoll-go/plimsoll/priority"

// Scheme names the words under which classes travel between services.
type Scheme string

// The schemes.
const (
	SchemePlimsoll Scheme = "plimsoll" // low, normal, high, critical
	SchemeGoogle   Scheme = "google"   // SHEDDABLE, SHEDDABLE_PLUS, CRITICAL, CRITICAL_PLUS
)

// Priority sets how much a request matters.
type Priority struct {
	// The header in which a client may claim a class for its request, and in
	// which the class goes on to the upstream. A claim lowers the class
	// freely, and raises it up to the ceiling of its caller. none is no header.
	ClassHeader OptionalHeader `yaml:"class_header" default:"X-Request-Criticality"`
	// The words of that header: low, normal, high, critical, or Google's
	// SHEDDABLE, SHEDDABLE_PLUS, CRITICAL, CRITICAL_PLUS.
	ClassScheme Scheme `yaml:"class_scheme" default:"plimsoll"`
	// The header in which a client may say how long it will wait, and in which
	// what is left of that goes on to the upstream: milliseconds, or a number
	// with ms or s. Grpc-Timeout has gRPC's form. none is no header.
	TimeoutHeader OptionalHeader `yaml:"timeout_header" default:"none" example:"X-Request-Timeout"`
	// The class of requests that no rule means.
	Default priority.Class `yaml:"default" default:"normal"`
	// Up to which class a caller may raise its requests by the header, if no
	// ceiling of its own is listed. low means that claims only ever lower.
	Ceiling priority.Class `yaml:"ceiling" default:"low"`
	// Ceilings of callers that may raise more, or less.
	Ceilings []Ceiling `yaml:"ceilings" items:"0..10000" default:"[]"`
	// The rules that give a request its class. The first rule that means a
	// request counts.
	Rules []Rule `yaml:"rules" items:"0..1000" default:"[{class: high, match: {method: [POST, PUT, PATCH, DELETE]}}]" example:"[{class: critical, match: {method: POST, path: /v1/charges}}]"`
}

// Ceiling is up to which class one caller may raise its requests.
type Ceiling struct {
	// The caller, as identity names it: the value of the header, or the address.
	Caller Caller `yaml:"caller" required:"true" example:"batch-jobs"`
	// The highest class that it may claim.
	Class priority.Class `yaml:"class" required:"true" example:"high"`
}

// Rule gives a class to the requests that it means.
type Rule struct {
	// The class of these requests.
	Class priority.Class `yaml:"class" required:"true" example:"critical"`
	// Which requests are meant.
	Match RuleMatch `yaml:"match" absent:"every request"`
}

// RuleMatch says which requests a rule means. What is absent does not
// restrict; what is given must all agree.
type RuleMatch struct {
	RequestMatch `yaml:",inline"`
	// The callers, as identity names them; any of them.
	Callers []Caller `yaml:"caller" single:"true" items:"1..10000" absent:"every caller" example:"test-suite"`
}

// RequestMatch is what can be asked of any request.
type RequestMatch struct {
	// The HTTP methods; any of them. GET means HEAD, too, since servers answer it by the same work.
	Methods []Method `yaml:"method" single:"true" items:"1..9" absent:"every method" example:"[POST, PUT]"`
	// The host that the request names, without a port.
	Host Host `yaml:"host" absent:"every host" example:"api.example.com"`
	// The path, decoded and cleaned: /v1/charges for that path,
	// /v1/charges/{id} with any one segment, /static/ with everything below.
	Path Pattern `yaml:"path" absent:"every path" example:"/v1/charges/{id}"`
	// Headers by name, with their exact value, a beginning and *, or * alone
	// for any value.
	Header map[HeaderName]string `yaml:"header" items:"1..32" absent:"any headers" example:"{X-Mode: test}"`
}
