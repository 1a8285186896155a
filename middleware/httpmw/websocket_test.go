package httpmw_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	for {
		kind, text, err := c.Read(context.Background())
		if err != nil || c.Write(context.Background(), kind, text) != nil {
			return
		}
	}
}

func TestWebSocket(t *testing.T) {
	o := newWitness()
	s := &room{left: 1, streams: 1}
	p := one(t, o, "workershed", s)
	server := httptest.NewServer(protect(t, httpmw.Config{}, p).Wrap(okay(echo)))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	c, _, err := websocket.Dial(ctx, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, got, err := c.Read(ctx); string(got) != "hello" || err != nil {
			t.Fatalf("%q %v", got, err)
		}
	}
	if requests, streams := s.free(); requests != 1 || streams != 0 || p.InFlight() != 1 {
		t.Errorf("room for %d requests and %d streams is left, %d in flight", requests, streams, p.InFlight())
	}

	_, resp, err := websocket.Dial(ctx, server.URL, nil) // one too many
	if err == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("a second one: %v, %v", resp, err)
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Sec-Websocket") || name == "Upgrade" {
			t.Errorf("the refusal says %s", name)
		}
	}
	if d := resp.Header.Get("Plimsoll-Decision"); !strings.Contains(d, "reason=worker-shed") {
		t.Errorf("the refusal says %q", d)
	}
	<-o.released // the refused one

	_ = c.Close(websocket.StatusNormalClosure, "")
	<-o.released
	if requests, streams := s.free(); requests != 1 || streams != 1 || p.InFlight() != 0 {
		t.Errorf("room for %d requests and %d streams is left, %d in flight", requests, streams, p.InFlight())
	}
	for _, got := range o.outcomes() {
		if got != pipeline.Ignored {
			t.Errorf("outcome %v", got)
		}
	}
	if resp, err := http.Get(server.URL + "/ok"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the next request: %v %v", resp, err)
	}
}
