// Command login slows down who guesses passwords, and locks out nobody who
// knows one.
//
// A stranger is a browser that has never logged in to the account that it
// names. Strangers have 5 wrong passwords a minute for an account, from
// wherever they come, and 20 for an address, on whichever accounts. A browser
// that has logged in before carries a cookie that says so, and has 5 a minute
// of its own: no attack on its account or from its address takes them away.
//
//	go run ./examples/login
//	curl -i -d 'account=alice&password=wrong' localhost:8080/login
//	curl -i -d 'account=alice&password=rabbit' localhost:8080/login
package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demonstrate(os.Stdout); err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, "localhost:8080"); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, address string) error {
	handler, err := login()
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler, ReadTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Printf("\nServing on http://%s/login; try\n  curl -i -d 'account=alice&password=wrong' http://%s/login\n", address, address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// login is the service: who is it, may they try, is the password right.
func login() (http.Handler, error) {
	limits, err := protection()
	if err != nil {
		return nil, err
	}
	edge, err := httpmw.New(httpmw.Config{}, limits)
	if err != nil {
		return nil, err
	}
	known := devices{secret: []byte(rand.Text())} // shared by all processes of a real service
	mux := http.NewServeMux()
	mux.Handle("POST /login", known.tell(edge.Wrap(check(known))))
	return mux, nil
}

// What an attempt costs. A wrong password costs ten times as much as a right
// one, so that an office behind one address may log in at nine o'clock.
const (
	wrong = 10
	right = 1
)

// protection is the limits. An attempt meets those of its visitor and must
// pass all of them; what one refuses costs nothing under the others. So who
// guesses at one account spends little of the address that others share.
func protection() (*pipeline.Pipeline, error) {
	strangers := match.Rule{Header: map[string]string{visitorHeader: stranger}}
	owners := match.Rule{Header: map[string]string{visitorHeader: acquainted}}
	stage, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{
		failures(5, "per-account", strangers, pipeline.OwnerPart{Kind: pipeline.ByHeader, Header: accountHeader}),
		failures(20, "per-address", strangers, pipeline.OwnerPart{Kind: pipeline.ByAddress}),
		failures(5, "per-device", owners, pipeline.OwnerPart{Kind: pipeline.ByHeader, Header: deviceHeader}),
	}}, nil)
	if err != nil {
		return nil, err
	}
	plan, err := pipeline.NewPlan(pipeline.Entry{Name: "ratelimit", Stage: stage})
	if err != nil {
		return nil, err
	}
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	return pipeline.New(pipeline.Config{Plan: plan, Store: store.NewGuard(memory, store.GuardConfig{Local: memory})})
}

// failures limits wrong passwords a minute. Each attempt is charged as wrong
// when it begins, so that many at once gain nothing, and settled when its
// password was right.
func failures(perMinute int64, name string, whose match.Rule, by pipeline.OwnerPart) ratelimit.Limit {
	return ratelimit.Limit{
		Name: name, Match: whose, Key: pipeline.Owner{by},
		Rate: limit.Per(perMinute*wrong, time.Minute),
		Cost: ratelimit.Cost{Tokens: wrong, AfterServing: true},
	}
}

// passwords of the demonstration. A real service keeps slow hashes of them.
var passwords = map[string]string{"alice": "rabbit", "bob": "builder"}

func check(known devices) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account := r.Header.Get(accountHeader)
		password, exists := passwords[account]
		if subtle.ConstantTimeCompare([]byte(r.PostFormValue("password")), []byte(password)) != 1 || !exists {
			http.Error(w, "wrong account or password", http.StatusUnauthorized)
			return
		}
		httpmw.SetCost(r.Context(), right)
		known.remember(w, account)
		fmt.Fprintln(w, "welcome,", account)
	})
}
