// Command outbound calls a payment gateway that allows ten calls a second, from
// fifty callers at once: first as they come, then through a transport that
// keeps the quota for them.
//
//	go run ./examples/outbound
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/outbound"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

func main() {
	if err := demonstrate(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func demonstrate(ctx context.Context, out io.Writer) error {
	careless := httptest.NewServer(&gateway{})
	defer careless.Close()
	fmt.Fprintln(out, "The gateway allows", quota, "calls a second. Fifty callers, as they come:")
	if err := report(ctx, out, http.DefaultClient, careless.URL); err != nil {
		return err
	}
	transport, err := withinQuota(http.DefaultTransport)
	if err != nil {
		return err
	}
	careful := httptest.NewServer(&gateway{})
	defer careful.Close()
	fmt.Fprintln(out, "Fifty callers, through the transport; this takes five seconds:")
	return report(ctx, out, &http.Client{Transport: transport}, careful.URL)
}

// withinQuota is a transport that never sends more than the gateway allows.
//
// At 9 calls a second and a burst of 1, calls leave 111 ms apart, and from one
// to the tenth after it 1.11 s pass. So the gateway counts at most ten in a
// second even when a call is 111 ms longer under way than others. A burst of 10
// at 10 a second would be 20 calls in the first second.
func withinQuota(base http.RoundTripper) (*outbound.Transport, error) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	limiter, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{
		Limits: []ratelimit.Limit{{Name: "gateway", Rate: limit.Per(quota-1, time.Second), Burst: 1}},
	}, store.NewGuard(memory, store.GuardConfig{}))
	if err != nil {
		return nil, err
	}
	return outbound.New(outbound.Config{Limiter: limiter, Base: base})
}

// report has fifty callers charge a card, and prints how that went.
func report(ctx context.Context, out io.Writer, client *http.Client, url string) error {
	start := time.Now()
	statuses, err := fifty(ctx, client, url)
	if err != nil {
		return err
	}
	took := time.Since(start).Round(100 * time.Millisecond)
	fmt.Fprintf(out, "  %d accepted, %d refused with 429, in %s\n", statuses[http.StatusCreated], statuses[http.StatusTooManyRequests], took)
	return nil
}

// fifty callers call at once. It counts what they were answered.
func fifty(ctx context.Context, client *http.Client, url string) (statuses map[int]int, err error) {
	statuses = map[int]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			status, failed := charge(ctx, client, url)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
			if failed != nil {
				err = failed
			}
		})
	}
	group.Wait()
	return statuses, err
}

func charge(ctx context.Context, client *http.Client, url string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/charges", strings.NewReader(`{"amount": 4200, "currency": "eur"}`))
	if err != nil {
		return 0, err
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
