package demo

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/plimsoll-go/plimsoll/examples/payments/service"
)

// quiet keeps what the service has to complain about off the screen: how it
// fares is what the table shows.
var quiet = log.New(io.Discard, "", 0)

// backend is the sample service, listening on loopback.
type backend struct {
	*service.Service
	server *http.Server
	url    string
}

func newBackend(p pace) (*backend, error) {
	s, err := service.New(service.Config{Connections: connections, Query: p.query()})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	b := &backend{Service: s, server: &http.Server{Handler: s, ErrorLog: quiet}, url: "http://" + l.Addr().String()}
	go b.server.Serve(l)
	return b, nil
}

func (b *backend) close() {
	b.Close()
	b.server.Close()
}
