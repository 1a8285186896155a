package httpmw

import (
	"net/http"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// Refusal is how one reason is told to clients. Nothing in it says more than a
// stranger may know.
type Refusal struct {
	Status int    // of HTTP: 429 for the caller's own limits, 503 for ours
	GRPC   int    // gRPC status code: 8 RESOURCE_EXHAUSTED, 14 UNAVAILABLE
	Type   string // problem type, RFC 9457
	Title  string // of the type
	Detail string // for people
	// Hint is whether a refusal without a known wait asks for one second. The
	// caller's own limits say nothing rather than something untrue.
	Hint bool
}

const (
	exhausted   = 8
	unavailable = 14
)

const (
	typeQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	typeAbuse    = "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"

	titleQuota    = "The quota of this caller is used up"
	titleCapacity = "Capacity is reduced for the time being"
	titleAbuse    = "Requests of this caller are not accepted"
)

var refusals = [pipeline.Reasons]Refusal{
	pipeline.None: capacity("The request was not accepted."),
	pipeline.RateLimited: {
		Status: http.StatusTooManyRequests, GRPC: exhausted, Type: typeQuota, Title: titleQuota,
		Detail: "More requests came than the rate allows.",
	},
	pipeline.CostTooLarge: {
		Status: http.StatusTooManyRequests, GRPC: exhausted, Type: typeQuota, Title: titleQuota,
		Detail: "The request costs more than the limit ever allows at once.",
	},
	pipeline.TooManyInFlight: {
		Status: http.StatusTooManyRequests, GRPC: exhausted, Type: typeQuota, Title: titleQuota,
		Detail: "Too many requests of this caller are being served.",
	},
	pipeline.FleetShed:    capacity("Requests of this class are not served while the service is busy."),
	pipeline.WorkerShed:   capacity("Requests of this class are not served while the service is busy."),
	pipeline.QueueTimeout: capacity("No room came free in time."),
	pipeline.OperatorShed: capacity("Such requests are not served for the time being."),
	pipeline.CallerBlocked: {
		Status: http.StatusTooManyRequests, GRPC: exhausted, Type: typeAbuse, Title: titleAbuse,
		Detail: "Requests of this caller are not served for the time being.",
	},
	pipeline.StoreUnavailable: capacity("The request could not be admitted just now."),
}

func capacity(detail string) Refusal {
	return Refusal{
		Status: http.StatusServiceUnavailable, GRPC: unavailable,
		Type: typeCapacity, Title: titleCapacity, Detail: detail, Hint: true,
	}
}

// RefusalOf is the line of the table for a reason.
func RefusalOf(r pipeline.Reason) Refusal { return refusals[line(r)] }

// line is the line of a reason in tables: that of None for what is no reason.
func line(r pipeline.Reason) pipeline.Reason {
	if r >= pipeline.Reasons {
		return pipeline.None
	}
	return r
}
