package redistest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy stands on the way to a server and breaks it. What has passed stays
// passed; every connection keeps its order. All methods may be called
// concurrently.
type Proxy struct {
	listener net.Listener

	mu      sync.Mutex
	target  [2]string // network and address
	links   []*link   // in the order in which they were made
	refuses bool
	open    chan struct{} // closed while bytes pass
	held    bool
	delay   func() time.Duration
	ended   bool
	busy    atomic.Int64 // goroutines
	serving sync.WaitGroup
}

// link is one connection through the proxy.
type link struct {
	near, far net.Conn
	deaf      bool // guarded by Proxy.mu
}

// NewProxy listens on a free port of the loopback, and passes on to the unix
// socket or the host:port of a server. Close must follow.
func NewProxy(address string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	p := &Proxy{listener: l, open: make(chan struct{})}
	close(p.open)
	p.Point(address)
	p.serving.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Point makes new connections go to another server, as an address that moves.
func (p *Proxy) Point(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = [2]string{"tcp", address}
	if address[0] == '/' {
		p.target[0] = "unix"
	}
}

// Hold keeps all bytes back, of new connections too, until Pass: a network that
// is gone, and whose packets are sent again when it is back.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held {
		p.held, p.open = true, make(chan struct{})
	}
}

// Pass lets all bytes pass again.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		p.held = false
		close(p.open)
	}
}

// Deafen makes the connections that are open now swallow every byte for ever,
// at most so many, the oldest first: an entry that a gateway has forgotten. It
// reports how many.
func (p *Proxy) Deafen(most int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		if n < most && !l.deaf {
			l.deaf = true
			n++
		}
	}
	return n
}

// Delay makes each piece of data wait before it goes on, in both directions;
// nil makes none wait.
func (p *Proxy) Delay(by func() time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// Reset breaks all connections that are open, with a TCP reset.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		l.reset()
	}
}

// Refuse resets connections as soon as they are made, until Accept.
func (p *Proxy) Refuse() { p.refuse(true) }

// Accept makes new connections again.
func (p *Proxy) Accept() { p.refuse(false) }

func (p *Proxy) refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = yes
}

// Goroutines is about how many of this process are the proxy's.
func (p *Proxy) Goroutines() int64 { return 1 + p.busy.Load() }

// Close ends the proxy and its connections, and waits for both.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Reset()
	p.Pass()
	p.serving.Wait()
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.busy.Add(3)
			p.serving.Go(func() {
				defer p.busy.Add(-3)
				p.serve(near)
			})
		}
	}
}

func (p *Proxy) serve(near net.Conn) {
	l := &link{near: near}
	p.mu.Lock()
	target, refuses := p.target, p.refuses || p.ended
	p.mu.Unlock()
	var err error
	if !refuses {
		l.far, err = net.Dial(target[0], target[1]) //nolint:noctx // a local server accepts or refuses at once
	}
	if refuses || err != nil {
		l.reset()
		return
	}
	if !p.add(l) {
		l.reset()
		return
	}
	defer p.drop(l)
	var both sync.WaitGroup
	both.Go(func() { p.copy(l, l.far, near) })
	both.Go(func() { p.copy(l, near, l.far) })
	both.Wait()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.links = append(p.links, l)
	return true
}

func (p *Proxy) drop(gone *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.links {
		if l == gone {
			p.links = append(p.links[:i:i], p.links[i+1:]...)
			return
		}
	}
}

// copy passes one direction on until it ends, and then ends the other too.
func (p *Proxy) copy(l *link, to io.Writer, from io.Reader) {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		open, wait, deaf := p.fate(l)
		<-open
		if wait > 0 {
			time.Sleep(wait) // this is what a slow network is
		}
		if n > 0 && !deaf {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// fate is what becomes of what was just read.
func (p *Proxy) fate(l *link) (open <-chan struct{}, wait time.Duration, deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.delay != nil {
		wait = p.delay()
	}
	return p.open, wait, l.deaf
}

func (l *link) close() {
	_ = l.near.Close()
	if l.far != nil {
		_ = l.far.Close()
	}
}

// reset makes the near side hear of it at once.
func (l *link) reset() {
	if tcp, ok := l.near.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	l.close()
}
