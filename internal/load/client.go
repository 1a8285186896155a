package load

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"
)

// Client sends arrivals over HTTP/1.1 with kept connections. One that gives up
// on an answer closes its connection, as a browser or another service does.
type Client struct {
	transport *http.Transport
	shape     func(Arrival) *http.Request
}

// NewClient makes a client. shape builds the request of an arrival; it is
// called concurrently, and what it returns belongs to the client, but for the
// URL and the headers, which may be shared between calls.
func NewClient(shape func(Arrival) *http.Request) *Client {
	return &Client{shape: shape, transport: &http.Transport{
		DialContext:         dial,
		MaxIdleConnsPerHost: DefaultOutstanding,
		DisableCompression:  true,
		IdleConnTimeout:     30 * time.Second,
	}}
}

// Close closes the connections that are kept.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do is the client's Do.
func (c *Client) Do(ctx context.Context, a Arrival) Answer {
	response, err := c.transport.RoundTrip(c.shape(a).WithContext(ctx))
	if err != nil {
		return failure(ctx, err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return failure(ctx, err)
	}
	if response.StatusCode < http.StatusBadRequest {
		return Answer{}
	}
	if refusal, ok := refusalOf(response.Header); ok {
		return Answer{Outcome: Refused, Refusal: refusal}
	}
	return Answer{Outcome: Failed}
}

func failure(ctx context.Context, err error) Answer {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return Answer{Outcome: GaveUp}
	}
	return Answer{Outcome: Failed}
}

// refusalOf reads the structured field of a refused request.
func refusalOf(h http.Header) (Refusal, bool) {
	lines := h.Values("Plimsoll-Decision")
	if len(lines) == 0 {
		return Refusal{}, false
	}
	field, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return Refusal{Reason: "malformed"}, true
	}
	return Refusal{Stage: member(field, "stage"), Reason: member(field, "reason")}, true
}

// member reads a token or a string of a dictionary.
func member(d *httpsfv.Dictionary, name string) string {
	m, _ := d.Get(name)
	item, _ := m.(httpsfv.Item)
	switch value := item.Value.(type) {
	case httpsfv.Token:
		return string(value)
	case string:
		return value
	}
	return ""
}

// dial connects so that closing early resets the connection: thousands of
// clients that gave up would otherwise use up the local ports.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that refuses it still works
	}
	return conn, err
}
