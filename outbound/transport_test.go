package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/outbound"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// remote is the other side: it notes when calls came, and answers by a function.
type remote struct {
	mu     sync.Mutex
	start  time.Time
	calls  []call
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

type call struct {
	at   time.Duration
	path string
}

func (r *remote) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	n := len(r.calls)
	r.calls = append(r.calls, call{time.Since(r.start), request.URL.Path})
	r.mu.Unlock()
	w := httptest.NewRecorder()
	if r.answer != nil {
		r.answer(n, w, request)
	}
	return w.Result(), nil
}

func (r *remote) at() (list []time.Duration) {
	for _, c := range r.calls {
		list = append(list, c.at)
	}
	return list
}

// limiter grants a number of tokens a second.
func limiter(t testing.TB, rate, burst int64) *ratelimit.Limiter {
	t.Helper()
	memory, err := memstore.New(memstore.Config{MaxKeys: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{
		Limits: []ratelimit.Limit{{Name: "gateway", Rate: limit.Per(rate, time.Second), Burst: burst}},
	}, store.NewGuard(memory, store.GuardConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// calling runs a test in virtual time, with a transport that has 10 tokens a
// second and a burst of 2 unless the test has its own limiter.
func calling(t *testing.T, c outbound.Config, test func(*testing.T, *http.Client, *remote)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &remote{start: time.Now()}
		c.Base = r
		if c.Limiter == nil {
			c.Limiter = limiter(t, 10, 2)
		}
		transport, err := outbound.New(c)
		if err != nil {
			t.Fatal(err)
		}
		test(t, &http.Client{Transport: transport}, r)
	})
}

// get sends a call, and returns what came of it.
func get(ctx context.Context, client *http.Client, url string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func must(t *testing.T, client *http.Client, url string) {
	t.Helper()
	if _, err := get(t.Context(), client, url); err != nil {
		t.Error(err)
	}
}

const ms = time.Millisecond

func TestCallsGoInOrderAndAtTheirRate(t *testing.T) {
	calling(t, outbound.Config{}, func(t *testing.T, client *http.Client, r *remote) {
		var group sync.WaitGroup
		var want []call
		for i := range 6 {
			path := fmt.Sprintf("/%d", i)
			group.Go(func() { must(t, client, "http://gateway"+path) })
			synctest.Wait() // it stands in line
			want = append(want, call{max(0, time.Duration(i-1)*100*ms), path})
		}
		group.Wait()
		if !slices.Equal(r.calls, want) {
			t.Errorf("called %v, want %v", r.calls, want)
		}
	})
}

func TestCostAndKeyAreTheConfigurations(t *testing.T) {
	costly := outbound.Config{
		Cost: func(r *http.Request) int64 { return r.ContentLength - 1 }, // -1 without a body
		Key:  func(r *http.Request) string { return r.Header.Get("Account") },
	}
	calling(t, costly, func(t *testing.T, client *http.Client, r *remote) {
		for _, account := range []string{"a", "b", "a", "a"} {
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway", strings.NewReader("two"))
			request.Header.Set("Account", account)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
		if want := []time.Duration{0, 0, 200 * ms, 400 * ms}; !slices.Equal(r.at(), want) {
			t.Errorf("called at %v, want %v", r.at(), want)
		}
		must(t, client, "http://gateway") // cost -2 counts as 1
	})
}

func TestHostsHaveQuotasOfTheirOwn(t *testing.T) {
	calling(t, outbound.Config{}, func(t *testing.T, client *http.Client, r *remote) {
		for _, url := range []string{"http://a/1", "http://a/2", "http://b/3", "http://b/4", "http://A/5"} {
			must(t, client, url)
		}
		if want := []time.Duration{0, 0, 0, 0, 100 * ms}; !slices.Equal(r.at(), want) {
			t.Errorf("called at %v, want %v", r.at(), want)
		}
	})
}

// closing is a body that knows how often it was closed.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

func TestFailFastFailsWithTheWait(t *testing.T) {
	calling(t, outbound.Config{Mode: outbound.FailFast}, func(t *testing.T, client *http.Client, r *remote) {
		must(t, client, "http://gateway")
		must(t, client, "http://gateway")
		body := &closing{Reader: strings.NewReader("x")}
		_, err := client.Post("http://gateway", "", body)
		spent, ok := errors.AsType[*outbound.QuotaError](err)
		if !ok || *spent != (outbound.QuotaError{Key: "gateway", Limit: "gateway", RetryAfter: 100 * ms}) {
			t.Fatalf("got %v", err)
		}
		if body.closed == 0 {
			t.Error("the body was not closed")
		}
		<-time.After(spent.RetryAfter)
		must(t, client, "http://gateway")
		if len(r.calls) != 3 {
			t.Errorf("%d calls were sent", len(r.calls))
		}
	})
}

func TestWhatCanNeverGoFailsAtOnce(t *testing.T) {
	for _, mode := range []outbound.Mode{outbound.Wait, outbound.FailFast} {
		calling(t, outbound.Config{Mode: mode, Cost: func(*http.Request) int64 { return 3 }}, func(t *testing.T, client *http.Client, r *remote) {
			_, err := get(t.Context(), client, "http://gateway")
			if spent, ok := errors.AsType[*outbound.QuotaError](err); !ok || spent.RetryAfter != store.Never || !strings.Contains(err.Error(), "can ever grant") {
				t.Errorf("got %v", err)
			}
			if time.Since(r.start) != 0 || len(r.calls) != 0 {
				t.Error("it waited, or was sent")
			}
		})
	}
}

func TestAContextEndsTheWait(t *testing.T) {
	calling(t, outbound.Config{}, func(t *testing.T, client *http.Client, r *remote) {
		must(t, client, "http://gateway")
		must(t, client, "http://gateway")

		short, stop := context.WithTimeout(t.Context(), 50*ms)
		defer stop()
		_, err := get(short, client, "http://gateway")
		if _, ok := errors.AsType[*outbound.QuotaError](err); !ok || time.Since(r.start) != 0 {
			t.Errorf("a deadline before its turn: %v after %s", err, time.Since(r.start))
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*ms, cancel)
		if _, err := get(ctx, client, "http://gateway"); !errors.Is(err, context.Canceled) || time.Since(r.start) != 30*ms {
			t.Errorf("cancelled: %v after %s", err, time.Since(r.start))
		}

		must(t, client, "http://gateway") // neither of them took a token, nor stands in line
		if want := []time.Duration{0, 0, 100 * ms}; !slices.Equal(r.at(), want) {
			t.Errorf("called at %v, want %v", r.at(), want)
		}
	})
}

func TestACallWhoseContextHasEndedIsNotSent(t *testing.T) {
	for _, mode := range []outbound.Mode{outbound.Wait, outbound.FailFast} {
		calling(t, outbound.Config{Mode: mode}, func(t *testing.T, client *http.Client, r *remote) {
			enough := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(enough)
			for range 50 {
				if _, err := get(ctx, client, "http://gateway"); !errors.Is(err, enough) {
					t.Errorf("got %v", err)
				}
			}
			must(t, client, "http://gateway")
			must(t, client, "http://gateway") // the whole burst is there
			if len(r.calls) != 2 {
				t.Errorf("%d calls were sent", len(r.calls))
			}
		})
	}
}

func TestTheLineIsBounded(t *testing.T) {
	calling(t, outbound.Config{MaxWaiters: 2}, func(t *testing.T, client *http.Client, r *remote) {
		var group sync.WaitGroup
		for range 5 { // two go, one is at the front, two stand behind it
			group.Go(func() { must(t, client, "http://gateway") })
			synctest.Wait()
		}
		if _, err := get(t.Context(), client, "http://gateway"); !errors.Is(err, outbound.ErrWaiters) {
			t.Errorf("got %v", err)
		}
		must(t, client, "http://other")
		group.Wait()
	})
}

// refuses is a remote side that answers the first call with a refusal.
func refuses(status int, name, value string) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 0 {
			w.Header().Set(name, value)
			w.WriteHeader(status)
		}
	}
}

func TestTheRemoteSidesPauseIsKept(t *testing.T) {
	for _, c := range []struct {
		status      int
		name, value string
		want        time.Duration
	}{
		{429, "Retry-After", "3", 3 * time.Second},
		{503, "Retry-After", "3", 3 * time.Second},
		{429, "Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT", 3 * time.Second}, // virtual time begins in 2000
		{429, "Retry-After", "86400", time.Hour},                               // MaxHold
		{429, "Retry-After", "never", 0},
		{200, "RateLimit", `"p";r=0;t=7`, 7 * time.Second},
		{200, "RateLimit", `"p";a=0;w=7`, 7 * time.Second},
	} {
		calling(t, outbound.Config{}, func(t *testing.T, client *http.Client, r *remote) {
			r.answer = refuses(c.status, c.name, c.value)
			if status, err := get(t.Context(), client, "http://gateway"); status != c.status || err != nil {
				t.Errorf("the caller got %d, %v instead of the answer", status, err)
			}
			must(t, client, "http://other") // is not held
			must(t, client, "http://gateway")
			if want := []time.Duration{0, 0, c.want}; !slices.Equal(r.at(), want) {
				t.Errorf("%s %s: called at %v, want %v", c.name, c.value, r.at(), want)
			}
		})
	}
}

// After a pause the calls that gathered go at the quota's rate, in order: those
// that waited for it took no tokens meanwhile.
func TestNoBurstAfterAPause(t *testing.T) {
	calling(t, outbound.Config{}, func(t *testing.T, client *http.Client, r *remote) {
		r.answer = refuses(429, "Retry-After", "5")
		must(t, client, "http://gateway/first")
		var group sync.WaitGroup
		want := []call{{0, "/first"}}
		for i := range 5 {
			path := fmt.Sprintf("/%d", i)
			group.Go(func() { must(t, client, "http://gateway"+path) })
			synctest.Wait()
			want = append(want, call{5*time.Second + max(0, time.Duration(i-1)*100*ms), path})
		}
		group.Wait()
		if !slices.Equal(r.calls, want) {
			t.Errorf("called %v, want %v", r.calls, want)
		}
	})
}

// A refusal that comes while others wait for tokens holds them, too.
func TestAPauseThatComesLateHoldsTheLine(t *testing.T) {
	calling(t, outbound.Config{}, func(t *testing.T, client *http.Client, r *remote) {
		r.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				<-time.After(50 * ms)
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(429)
			}
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { must(t, client, "http://gateway") })
			synctest.Wait()
		}
		group.Wait()
		if want := []time.Duration{0, 0, 2050 * ms, 2050 * ms}; !slices.Equal(r.at(), want) {
			t.Errorf("called at %v, want %v", r.at(), want)
		}
	})
}

func TestAPauseIsNotShortened(t *testing.T) {
	calling(t, outbound.Config{Mode: outbound.FailFast}, func(t *testing.T, client *http.Client, r *remote) {
		r.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
			<-time.After(time.Duration(n+1) * ms) // both are under way at once
			w.Header().Set("Retry-After", []string{"9", "2"}[n])
			w.WriteHeader(429)
		}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { must(t, client, "http://gateway") })
			synctest.Wait()
		}
		group.Wait()
		_, err := get(t.Context(), client, "http://gateway")
		spent, ok := errors.AsType[*outbound.QuotaError](err)
		if !ok || spent.Limit != outbound.Remote || spent.RetryAfter != 9*time.Second-ms {
			t.Errorf("got %v", err)
		}
	})
}

// What is remembered is bounded: the least recently used pause is forgotten.
func TestPausesAreBounded(t *testing.T) {
	calling(t, outbound.Config{Mode: outbound.FailFast, MaxHolds: 2}, func(t *testing.T, client *http.Client, r *remote) {
		r.answer = func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(429)
		}
		for _, host := range []string{"a", "b", "c"} {
			must(t, client, "http://"+host)
		}
		for _, host := range []string{"b", "c"} {
			if _, err := get(t.Context(), client, "http://"+host); err == nil {
				t.Errorf("%s is not held", host)
			}
		}
		must(t, client, "http://a")
	})
}

// broken is a store that cannot be asked.
type broken struct{ store.Driver }

func TestALimiterThatCannotAskFailsTheCall(t *testing.T) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{
		Limits:  []ratelimit.Limit{{Name: "gateway", Rate: limit.Per(1, time.Second)}},
		OnFault: pipeline.Closed,
	}, store.NewGuard(broken{memory}, store.GuardConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	calling(t, outbound.Config{Limiter: l}, func(t *testing.T, client *http.Client, r *remote) {
		body := &closing{Reader: strings.NewReader("x")}
		if _, err := client.Post("http://gateway", "", body); !errors.Is(err, errBroken) || body.closed == 0 || len(r.calls) != 0 {
			t.Errorf("got %v, body closed %d times, %d calls", err, body.closed, len(r.calls))
		}
	})
}

var errBroken = errors.New("broken")

func (broken) Claim(context.Context, *store.Batch) error { return errBroken }

func TestConfigReportsEveryFault(t *testing.T) {
	_, err := outbound.New(outbound.Config{Mode: 7, MaxWaiters: -1})
	for _, word := range []string{"Limiter", "Mode", "MaxWaiters"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
}

// idle is a base that keeps connections.
type idle struct {
	remote
	closed bool
}

func (i *idle) CloseIdleConnections() { i.closed = true }

func TestIdleConnectionsAreTheBases(t *testing.T) {
	base := &idle{}
	transport, err := outbound.New(outbound.Config{Limiter: limiter(t, 1, 1), Base: base})
	if err != nil {
		t.Fatal(err)
	}
	(&http.Client{Transport: transport}).CloseIdleConnections()
	if !base.closed {
		t.Error("the base was not told")
	}
}

// Over real connections, and with the default base.
func TestManyCallersOverConnections(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer server.Close()
	transport, err := outbound.New(outbound.Config{Limiter: limiter(t, 1_000_000, 1)})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			response, err := client.Post(server.URL, "", strings.NewReader(fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if got, err := io.ReadAll(response.Body); err != nil || string(got) != fmt.Sprint(i) {
				t.Errorf("call %d got %q, %v", i, got, err)
			}
		})
	}
	group.Wait()
}
