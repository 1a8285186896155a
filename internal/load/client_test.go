package load

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clientOf makes a client of a server whose requests are all alike.
func clientOf(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := NewClient(func(Arrival) *http.Request {
		return &http.Request{Method: http.MethodPost, URL: base, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2}
	})
	t.Cleanup(c.Close)
	return c
}

func TestTheClientTellsAnswersApart(t *testing.T) {
	const refused = `stage=ratelimit, reason=rate-limited, limit="per-caller", class=normal, id="1"`
	for name, c := range map[string]struct {
		status int
		field  string
		want   Answer
	}{
		"served":          {200, "", Answer{}},
		"refused":         {429, refused, Answer{Outcome: Refused, Refusal: Refusal{"ratelimit", "rate-limited"}}},
		"shed":            {503, "stage=workershed, reason=queue-timeout", Answer{Outcome: Refused, Refusal: Refusal{"workershed", "queue-timeout"}}},
		"malformed field": {503, "stage==", Answer{Outcome: Refused, Refusal: Refusal{Reason: "malformed"}}},
		"service's own":   {503, "", Answer{Outcome: Failed}},
		"not found":       {404, "", Answer{Outcome: Failed}},
		"served, marked":  {201, refused, Answer{}},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.field != "" {
					w.Header().Set("Plimsoll-Decision", c.field)
				}
				w.WriteHeader(c.status)
			})
			if got := client.Do(t.Context(), Arrival{}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTheClientGivesUpAtTheDeadline(t *testing.T) {
	left := make(chan struct{})
	client := clientOf(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(left)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got := client.Do(ctx, Arrival{}); got != (Answer{Outcome: GaveUp}) {
		t.Errorf("got %+v", got)
	}
	<-left // the service sees the connection go
}

func TestTheClientCallsAnErrorAnError(t *testing.T) {
	client := clientOf(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if got := client.Do(t.Context(), Arrival{}); got != (Answer{Outcome: Failed}) {
		t.Errorf("got %+v", got)
	}
}

func TestTheClientKeepsItsConnections(t *testing.T) {
	seen := map[string]bool{}
	client := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		io.WriteString(w, "a body that has to be read")
	})
	for range 5 {
		client.Do(t.Context(), Arrival{})
	}
	if len(seen) != 1 {
		t.Errorf("5 requests used %d connections", len(seen))
	}
}

func TestAClosedConnectionIsReset(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ours, err := dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	ours.Close()
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the other side read %v, want a reset", err)
	}
}
