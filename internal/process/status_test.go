package process

import (
	"net/http"
	"strconv"
	"testing"
)

// A flood of callers beyond store.max_keys makes newcomers share one state.
// Whoever wonders why those are refused finds it in the status.
func TestTheStatusTellsOfATableWithoutRoom(t *testing.T) {
	r := start(t, file(t, `version: 1
store: {max_keys: 1}
stages: [{stage: ratelimit, limits: [{name: a, key: [caller], rate: 1/day}]}]
`), hello)
	if s := r.Status().Store; s.MaxKeys < 1 || s.Spilled != 0 {
		t.Errorf("status %+v before the first request", s)
	}
	for i := range r.Status().Store.MaxKeys + 100 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Api-Key", strconv.FormatInt(i, 10))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	if s := r.Status().Store; s.Keys != s.MaxKeys || s.Spilled == 0 {
		t.Errorf("status %+v, want a full table", s)
	}
}
