package httpmw_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/identity"
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// full is a configuration with all that a request can meet.
func full(t testing.TB, f httpmw.Fields) httpmw.Config {
	t.Helper()
	who, err := identity.New(identity.Config{Sources: []string{"header:X-Api-Key", "address"}})
	if err != nil {
		t.Fatal(err)
	}
	return httpmw.Config{
		Identity: who, Rules: chargesAreCritical(t), Fields: f,
		Ceiling:     func(*pipeline.Caller) priority.Class { return priority.High },
		Propagation: httpmw.Propagation{ClassHeader: priority.Header, TimeoutHeader: "X-Request-Timeout"},
	}
}

func fullRequest() *http.Request {
	r := newRequest("POST", "/v1/charges")
	r.ProtoMajor = 1
	r.Header.Set("X-Api-Key", "0123456789abcdef0123456789abcdef")
	r.Header.Set(priority.Header, "high")
	r.Header.Set("X-Request-Timeout", "250")
	return r
}

// like net/http's own writer, as far as types go.
type serverWriter struct{ discard }

func (serverWriter) Flush()                            {}
func (serverWriter) WriteString(s string) (int, error) { return len(s), nil }

func TestAllocations(t *testing.T) {
	l := tokens(t, "per-caller", limit.Per(100, time.Second), 500)
	admitting := granting(pipeline.Detail{Limit: l, Remaining: 499, ResetAfter: 10 * time.Millisecond})
	shed := refusing(pipeline.WorkerShed, pipeline.Detail{})
	limited := refusing(pipeline.RateLimited, pipeline.Detail{Rule: l.Name, Limit: l, RetryAfter: time.Second})
	for _, c := range []struct {
		what  string
		form  httpmw.Fields
		stage pipeline.Stage
		most  float64
	}{
		{"admitted", httpmw.NoFields, admitting, 1},   // the exchange
		{"with fields", httpmw.Draft11, admitting, 2}, // and the text of header lines
		{"shed", httpmw.Draft11, shed, 2},
		{"rate limited", httpmw.Draft11, limited, 2},
	} {
		r := fullRequest()
		h := protect(t, full(t, c.form), one(t, nil, "x", c.stage)).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ok")
		}))
		var w http.ResponseWriter = serverWriter{discard{make(http.Header, 16)}}
		least := c.most + 1
		for range 100 { // the race detector makes pools forget at times
			least = min(least, testing.AllocsPerRun(1, func() {
				clear(w.Header())
				h.ServeHTTP(w, r)
			}))
		}
		if least > c.most {
			t.Errorf("%s: more than %v allocations", c.what, c.most)
		}
	}
}
