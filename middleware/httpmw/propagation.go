package httpmw

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Propagation names the headers in which a request's class and the time that
// is left for it travel from service to service. The zero value has neither.
type Propagation struct {
	// ClassHeader carries the class, under its name in Scheme. Usually
	// priority.Header. "" is none.
	ClassHeader string
	// Scheme is the names of classes. Default: Plimsoll's.
	Scheme priority.Scheme
	// TimeoutHeader carries how long the client will wait: whole milliseconds
	// (250), or a number with its unit, ms or s (250ms, 1.5s). Under the name
	// Grpc-Timeout it is gRPC's format (250m). More than an hour counts as an
	// hour, and what does not parse as nothing said. "" is none.
	TimeoutHeader string
}

const (
	grpcTimeout = "Grpc-Timeout"
	maxTimeout  = time.Hour
)

// lowest is the least important class of several claims; what is no class
// claims nothing. Of two lines a proxy may have added the second, so neither
// counts for more.
func (p *Propagation) lowest(claims []string) (class priority.Class, ok bool) {
	for _, text := range claims {
		if c, known := p.Scheme.Class(strings.TrimSpace(text)); known && (!ok || c < class) {
			class, ok = c, true
		}
	}
	return class, ok
}

// timeout reads the shortest time that a header's lines give.
func (p *Propagation) timeout(h http.Header) (left time.Duration, ok bool) {
	if p.TimeoutHeader == "" {
		return 0, false
	}
	read := parseTimeout
	if p.TimeoutHeader == grpcTimeout {
		read = parseGRPCTimeout
	}
	for _, line := range h[p.TimeoutHeader] {
		if d, fine := read(strings.TrimSpace(line)); fine && (!ok || d < left) {
			left, ok = d, true
		}
	}
	return left, ok
}

func parseTimeout(s string) (time.Duration, bool) {
	unit := float64(time.Millisecond)
	if number, ok := strings.CutSuffix(s, "ms"); ok {
		s = number
	} else if number, ok := strings.CutSuffix(s, "s"); ok {
		s, unit = number, float64(time.Second)
	} else if strings.IndexByte(s, '.') >= 0 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && c != '.' {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(min(n*unit, float64(maxTimeout))), true
}

var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// parseGRPCTimeout reads one to eight digits and a unit.
func parseGRPCTimeout(s string) (time.Duration, bool) {
	if len(s) < 2 || len(s) > 9 {
		return 0, false
	}
	unit, known := grpcUnits[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if !known || err != nil {
		return 0, false
	}
	if time.Duration(n) > maxTimeout/unit {
		return maxTimeout, true
	}
	return time.Duration(n) * unit, true
}

// set writes a class and the time that is left onto outgoing headers. A class
// that is there already may be lower than the request's, but not higher.
func (p *Propagation) set(out http.Header, class priority.Class, left time.Duration, bounded bool) {
	if p.ClassHeader != "" {
		if own, ok := p.lowest(out[p.ClassHeader]); ok {
			class = min(class, own)
		}
		out[p.ClassHeader] = []string{p.Scheme.Name(class)}
	}
	if p.TimeoutHeader == "" || !bounded {
		return
	}
	if own, ok := p.timeout(out); ok {
		left = min(left, own)
	}
	ms := strconv.FormatInt(int64(min(max(left, 0), maxTimeout)/time.Millisecond), 10)
	if p.TimeoutHeader == grpcTimeout {
		ms += "m"
	}
	out[p.TimeoutHeader] = []string{ms}
}

// Forward writes the class of the request that ctx belongs to, and the time
// that is left for it, onto the headers of a request that is made for it, under
// the names of the middleware that admitted it. For a reverse proxy:
//
//	Rewrite: func(r *httputil.ProxyRequest) {
//		httpmw.Forward(r.In.Context(), r.Out.Header)
//	}
//
// It does nothing for a context that no middleware made.
func Forward(ctx context.Context, out http.Header) {
	if e := exchangeOf(ctx); e != nil {
		e.forward(ctx, &e.settings.Propagation, out)
	}
}

func (e *exchange) forward(ctx context.Context, p *Propagation, out http.Header) {
	left, bounded := time.Duration(0), e.deadline != 0
	if bounded {
		left = time.Duration(e.deadline - e.middleware.pipeline.Now())
	}
	if at, ok := ctx.Deadline(); ok && (!bounded || time.Until(at) < left) {
		left, bounded = time.Until(at), true
	}
	p.set(out, e.class, left, bounded)
}
