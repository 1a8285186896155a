package config_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/plimsoll-go/plimsoll/config"
)

// Every fault is reported at once, with its place and what would be right.
func ExampleParse() {
	_, err := config.Parse("plimsoll.yaml", []byte(`
version: 1
stages:
  - stage: ratelimit
    mode: enfroce
    limits:
      - {name: per-caller, rate: 100, burst: 0}
`))
	fmt.Println(err)
	// Output:
	// plimsoll.yaml:5:11: stages[0].mode: unknown mode "enfroce", did you mean enforce?; allowed: enforce, shadow, off
	// plimsoll.yaml:7:34: stages[0].limits[0].rate: a rate needs its period, got "100"; allowed: count/period, such as 100/s, 1000/min, 5000/day or 10/30s
	// plimsoll.yaml:7:46: stages[0].limits[0].burst: 0 is out of range; allowed: 1 to 1000000000
}

// A handler is protected by what a file says.
func ExampleProtect() {
	file, err := config.Parse("plimsoll.yaml", []byte(`
version: 1
stages:
  - stage: ratelimit
    limits: [{name: per-caller, rate: 1/day}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	protection, err := config.Protect(file, config.ProtectConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go protection.Run(ctx)

	handler := protection.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	for range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 429
}
