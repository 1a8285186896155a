package demo

import (
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/priority"
)

// What the load calls critical, the rules of the protection call critical, and
// so on: else the table would count one thing and the stages protect another.
func TestTheStagesClassifyTrafficAsItIsMeant(t *testing.T) {
	f, err := config.Parse("demo.yaml", protection)
	if err != nil {
		t.Fatal(err)
	}
	f.Upstream = "http://127.0.0.1:9"
	built, err := config.Build(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	traffic, err := newTraffic("http://127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range priority.All {
		for pick := range uint64(500) {
			r := traffic.request(load.Arrival{Class: class, Pick: pick})
			subject := match.Subject{Method: r.Method, Path: r.URL.Path, Header: r.Header}
			if got := built.Middleware.Rules.Classify(&subject, ""); got != class {
				t.Fatalf("%s %s %v is meant as %v, and is %v", r.Method, r.URL.Path, r.Header, class, got)
			}
		}
	}
}

func TestTwoCallersAreGreedy(t *testing.T) {
	traffic, err := newTraffic("http://127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	const n = 40_000
	for class, want := range map[priority.Class]map[string]float64{
		priority.Critical: {},
		priority.High:     {payoutKey: 0.25},
		priority.Normal:   {reportKey: 1.0 / 3},
		priority.Low:      {},
	} {
		counts := map[string]float64{}
		for range n {
			r := traffic.request(load.Arrival{Class: class, Pick: random.Uint64()})
			counts[r.Header.Get("X-Api-Key")] += 1.0 / n
			if body := r.Body != nil; body != (r.Method == http.MethodPost) {
				t.Fatalf("%s with a body: %v", r.Method, body)
			}
		}
		if len(counts) != merchants+len(want) {
			t.Errorf("%v comes from %d callers, want %d and %d more", class, len(counts), merchants, len(want))
		}
		for key, share := range counts {
			most := want[key]
			if most == 0 {
				most = 1.0 / merchants
			}
			if share > most*1.3 {
				t.Errorf("%v: %s sends %.3f, want %.3f", class, key, share, most)
			}
		}
	}
}
