package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/proxy"
)

// office is where operators are served: an address, and perhaps a socket.
type office struct {
	process   *Process
	api       *admin.API
	server    *http.Server
	operators net.Listener
	follow    func(context.Context) // of the certificate; nil without one
	local     *http.Server          // of the socket; nil without one
	socket    net.Listener
}

// openOffice prepares what serves operators. Only the socket is opened here.
func (p *Process) openOffice(operators net.Listener) (*office, error) {
	settings := &p.began.Admin
	api, err := p.access(p.built.Load().Live)
	if err != nil {
		return nil, err
	}
	debug, err := p.debug()
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	c := admin.Config{
		Status: p.Status, Ready: p.ready, Metrics: admin.Metrics(p.telemetry), Debug: debug, API: api, Closed: settings.BeyondLoopback,
		AnyHost: settings.BeyondLoopback && len(settings.Hosts) == 0,
	}
	for _, host := range settings.Hosts {
		c.Hosts = append(c.Hosts, string(host))
	}
	handler, err := admin.New(c)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	o := &office{process: p, api: api, server: admin.Server(handler), operators: operators}
	if settings.TLS.Cert != "" {
		files := proxy.ServerTLS{CertFile: settings.TLS.Cert, KeyFile: settings.TLS.Key, ClientCAFile: settings.TLS.ClientCA}
		config, follow, err := proxy.OperatorsTLS(files, p.log)
		if err != nil {
			return nil, fmt.Errorf("process: admin.tls: %w", err)
		}
		o.follow, o.operators = follow, tls.NewListener(operators, config)
	}
	if settings.Socket != "" {
		if o.socket, err = listenSocket(settings.Socket); err != nil {
			return nil, fmt.Errorf("process: admin.socket: %w", err)
		}
		o.local = admin.Server(bySocket(handler))
		o.local.ConnContext = withPeer
	}
	return o, nil
}

// listenSocket opens a unix socket that only this user may open, in place of
// one that nobody listens on any more.
func listenSocket(path string) (net.Listener, error) {
	if conn, err := new(net.Dialer).Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("somebody listens on %s already", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is there, and is no socket", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

type peerKey struct{}

// withPeer remembers which user opened the socket.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	name := "local user"
	if id, ok := peerOf(conn); ok {
		name = "uid " + strconv.FormatUint(uint64(id), 10)
	}
	return context.WithValue(ctx, peerKey{}, name)
}

// bySocket tells the API that who asks came by the socket.
func bySocket(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _ := r.Context().Value(peerKey{}).(string)
		next.ServeHTTP(w, r.WithContext(admin.BySocket(r.Context(), name)))
	})
}

// serve answers operators, in goroutines of a group, until close.
func (o *office) serve(background context.Context, group *sync.WaitGroup) {
	group.Go(func() { o.process.report(o.server.Serve(o.operators)) })
	if o.follow != nil {
		group.Go(func() { o.follow(background) })
	}
	if o.local != nil {
		group.Go(func() { o.process.report(o.local.Serve(o.socket)) })
	}
}

// close lets requests of operators end for a moment.
func (o *office) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, server := range []*http.Server{o.server, o.local} {
		if server != nil && server.Shutdown(ctx) != nil {
			server.Close()
		}
	}
}
