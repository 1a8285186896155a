package demo

import (
	"fmt"
	"net"
	"net/http"

	"github.com/plimsoll-go/plimsoll/examples/payments/service"
)

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
	b := &backend{Service: s, server: &http.Server{Handler: s}, url: "http://" + l.Addr().String()}
	go b.server.Serve(l)
	return b, nil
}

func (b *backend) close() {
	b.Close()
	b.server.Close()
}
