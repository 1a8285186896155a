package outbound_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/outbound"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// Two calls an hour are ours; the third is not sent.
func Example() {
	gateway := httptest.NewServer(http.NotFoundHandler())
	defer gateway.Close()
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := ratelimit.NewLimiter(ratelimit.LimiterConfig{
		Limits: []ratelimit.Limit{{Name: "gateway", Rate: limit.Per(2, time.Hour)}},
	}, store.NewGuard(memory, store.GuardConfig{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	transport, err := outbound.New(outbound.Config{Limiter: limiter, Mode: outbound.FailFast})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}
	for range 3 {
		response, err := client.Get(gateway.URL)
		if spent, ok := errors.AsType[*outbound.QuotaError](err); ok {
			fmt.Println("not sent; ask again in", spent.RetryAfter.Round(time.Minute))
			continue
		} else if err != nil {
			fmt.Println(err)
			return
		}
		response.Body.Close()
		fmt.Println("sent:", response.StatusCode)
	}
	// Output:
	// sent: 404
	// sent: 404
	// not sent; ask again in 30m0s
}
