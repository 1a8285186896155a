package bench

import (
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
)

// protection is a middleware: what stands around the handler.
type protection struct {
	name string
	wrap func(b *testing.B, next http.Handler) http.Handler
}

// protections limit by address or by key, in the way of their documentation.
// failsafe-rate and failsafe-adaptive have one limit for all callers.
func protections() []protection {
	return []protection{
		{"none", func(_ *testing.B, next http.Handler) http.Handler { return next }},
		{"plimsoll", func(b *testing.B, next http.Handler) http.Handler {
			return protect(b, fourStages(b, func(*plan) {}), httpmw.Draft11).Wrap(next)
		}},
		{"plimsoll-no-fields", func(b *testing.B, next http.Handler) http.Handler {
			return protect(b, fourStages(b, func(*plan) {}), httpmw.NoFields).Wrap(next)
		}},
		{"httprate", func(_ *testing.B, next http.Handler) http.Handler {
			byKey := func(r *http.Request) (string, error) { return r.Header.Get("X-Api-Key"), nil }
			return httprate.LimitBy(math.MaxInt32, time.Hour, byKey)(next)
		}},
		{"ulule", func(_ *testing.B, next http.Handler) http.Handler {
			return stdlib.NewMiddleware(limiter.New(ululestore.NewStore(), limiter.Rate{Period: time.Hour, Limit: math.MaxInt64})).Handler(next)
		}},
		{"throttled", wrapThrottled},
		{"go-limiter", wrapGoLimiter},
		{"failsafe-rate", func(_ *testing.B, next http.Handler) http.Handler {
			return failsafehttp.NewHandler(next, ratelimiter.NewBursty[*http.Response](burst, time.Second))
		}},
		{"failsafe-adaptive", func(_ *testing.B, next http.Handler) http.Handler {
			return failsafehttp.NewHandler(next, adaptivelimiter.NewBuilder[*http.Response]().WithLimits(room, 2*room, room).Build())
		}},
	}
}

func wrapThrottled(b *testing.B, next http.Handler) http.Handler {
	b.Helper()
	s, err := throttledstore.NewCtx(0)
	if err != nil {
		b.Fatal(err)
	}
	l, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{MaxRate: throttled.PerDuration(burst, time.Second), MaxBurst: burst / 2})
	if err != nil {
		b.Fatal(err)
	}
	limited := throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: &throttled.VaryBy{RemoteAddr: true}}
	return limited.RateLimit(next)
}

func wrapGoLimiter(b *testing.B, next http.Handler) http.Handler {
	b.Helper()
	s, err := memorystore.New(&memorystore.Config{Tokens: burst, Interval: 24 * time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	m, err := httplimit.NewMiddleware(s, httplimit.IPKeyFunc())
	if err != nil {
		b.Fatal(err)
	}
	return m.Handle(next)
}

// BenchmarkMiddleware sends requests that pass.
func BenchmarkMiddleware(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		for _, p := range protections() {
			b.Run(p.name, func(b *testing.B) { calls(b, p.wrap(b, answer)) })
		}
	})
	b.Run("socket", func(b *testing.B) {
		for _, p := range protections() {
			b.Run(p.name, func(b *testing.B) { exchanges(b, serve(b, p.wrap(b, answer)), "/", http.StatusOK) })
		}
	})
}

// BenchmarkRefusing sends requests that the middleware refuses; none is a
// handler that answers. The other two are what no middleware can do better: a
// status and nothing else, and the middleware's own answer made beforehand.
func BenchmarkRefusing(b *testing.B) {
	b.Run("socket", func(b *testing.B) {
		b.Run("none", func(b *testing.B) { exchanges(b, serve(b, answer), "/", http.StatusOK) })
		b.Run("plimsoll", func(b *testing.B) { exchanges(b, serve(b, refusing(b)), "/", http.StatusTooManyRequests) })
		b.Run("bare-status", func(b *testing.B) {
			bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
			exchanges(b, serve(b, bare), "/", http.StatusServiceUnavailable)
		})
		b.Run("same-answer", func(b *testing.B) {
			exchanges(b, serve(b, again(b, refusing(b))), "/", http.StatusTooManyRequests)
		})
	})
}

// refusing is the middleware when the one token is spent.
func refusing(b *testing.B) http.Handler {
	b.Helper()
	p := fourStages(b, func(p *plan) { p.rate.Limits[0].Rate = limit.Per(1, time.Hour) })
	h := protect(b, p, httpmw.Draft11).Wrap(answer)
	if got := ask(b, h).Code; got != http.StatusOK {
		b.Fatalf("status %d, want 200", got)
	}
	return h
}

// again says what a handler says, without its work.
func again(b *testing.B, h http.Handler) http.Handler {
	b.Helper()
	said := ask(b, h)
	body := said.Body.Bytes()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), said.Header())
		w.WriteHeader(said.Code)
		_, _ = w.Write(body)
	})
}

// ask sends a handler the request that exchanges send.
func ask(b *testing.B, h http.Handler) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/", http.NoBody)
	r.Header.Set("X-Api-Key", "caller-1000000")
	said := httptest.NewRecorder()
	h.ServeHTTP(said, r)
	return said
}
