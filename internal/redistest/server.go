package redistest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config says how a server is started. The zero value is an empty server on a
// unix socket that saves nothing.
type Config struct {
	// TCP makes it listen on a free port of the loopback too.
	TCP bool
	// Settings are the lines of a configuration file, which the server may
	// rewrite. Default none.
	Settings string
	// Sentinel runs it as a sentinel.
	Sentinel bool
	// Args are further arguments of redis-server, as in "--appendonly", "yes".
	Args []string
}

// Server is one redis-server. Its methods are for one goroutine, but for Admin
// and the commands on it.
type Server struct {
	// Socket is the path of its unix socket.
	Socket string
	// Addr is host:port when it listens on the loopback too.
	Addr string
	// Dir is its working folder, which goes when it ends.
	Dir string
	// Admin sends it commands, and waits for answers for up to a minute.
	Admin *redis.Client

	args  []string
	cmd   *exec.Cmd
	gone  chan struct{} // closed when the process has ended
	dials atomic.Int64
}

// New prepares a server. It is not started yet, see Launch; End must follow.
func New(c Config) (*Server, error) {
	dir, err := os.MkdirTemp("", "redis") // t.TempDir is too long a path for a socket
	if err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	s := &Server{Socket: filepath.Join(dir, "s"), Dir: dir}
	s.Admin = redis.NewClient(&redis.Options{
		Addr: s.Socket, ReadTimeout: time.Minute, DialTimeout: time.Second, DialerRetries: 1, Dialer: s.dial, DisableIdentity: true,
	})
	port := "0"
	if c.TCP {
		s.Addr = net.JoinHostPort("127.0.0.1", FreePort())
		_, port, _ = net.SplitHostPort(s.Addr)
	}
	if c.Settings != "" || c.Sentinel {
		path := filepath.Join(dir, "conf")
		if err := os.WriteFile(path, []byte(c.Settings), 0o600); err != nil {
			s.End()
			return nil, fmt.Errorf("redistest: %w", err)
		}
		s.args = append(s.args, path)
	}
	if c.Sentinel {
		s.args = append(s.args, "--sentinel")
	} else {
		s.args = append(s.args, "--save", "")
	}
	s.args = append(s.args, "--port", port, "--bind", "127.0.0.1", "--unixsocket", s.Socket, "--dir", dir, "--loglevel", "warning")
	s.args = append(s.args, c.Args...)
	return s, nil
}

func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.dials.Add(1)
	var d net.Dialer
	return d.DialContext(ctx, "unix", s.Socket)
}

// AdminConnections is how many connections Admin has made: they are among
// those that the server has seen.
func (s *Server) AdminConnections() int64 { return s.dials.Load() }

// Run starts the process, and does not wait for it.
func (s *Server) Run() error {
	log, err := os.Create(filepath.Join(s.Dir, "log"))
	if err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	defer log.Close()
	s.cmd = exec.Command("redis-server", s.args...) //nolint:gosec,noctx // its arguments are a test's; it ends when End is called
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fmt.Errorf("redistest: redis-server is needed, see scripts/install-deps.sh: %w", err)
	}
	gone := make(chan struct{})
	s.gone = gone
	go func(cmd *exec.Cmd) {
		defer close(gone)
		_ = cmd.Wait()
	}(s.cmd)
	return nil
}

// Launch starts the process and waits until it answers. A server that was
// killed can be launched again, in the same place and on what it saved.
func (s *Server) Launch(ctx context.Context) error {
	if err := s.Run(); err != nil {
		return err
	}
	return s.Ready(ctx)
}

// Ready waits until the server answers, for up to a minute.
func (s *Server) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.Admin.Ping(ctx).Err()
		if err == nil || strings.HasPrefix(err.Error(), "NOAUTH") {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.gone:
			said, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
			return fmt.Errorf("redistest: redis-server ended at once: %s", said)
		case <-ctx.Done():
			return fmt.Errorf("redistest: redis-server does not answer: %w", err)
		}
	}
}

// Again adds arguments for the next start.
func (s *Server) Again(args ...string) { s.args = append(s.args, args...) }

// Signal sends the process a signal: SIGSTOP and SIGCONT hang and wake it.
func (s *Server) Signal(sig syscall.Signal) error {
	if s.cmd == nil {
		return errors.New("redistest: the server does not run")
	}
	return s.cmd.Process.Signal(sig)
}

// Kill ends the process without a warning, and waits until it is gone.
func (s *Server) Kill() { s.stop(syscall.SIGKILL) }

// Shutdown ends the process as an operator would, and waits until it is gone.
func (s *Server) Shutdown() { s.stop(syscall.SIGTERM) }

func (s *Server) stop(sig syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig)
	<-s.gone
	s.cmd = nil
}

// End kills the process and removes all that is left of it.
func (s *Server) End() {
	_ = s.Admin.Close()
	s.Kill()
	_ = os.RemoveAll(s.Dir)
}

// The client library writes a line for each connection that fails, and a server
// that starts refuses some. It is told before there is a client.
var _ = func() bool {
	redis.SetLogger(silent{})
	return true
}()

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Each process begins to search for a port in a place of its own.
var (
	portBegin = rand.Int64N(portSpan)
	portsSeen atomic.Int64
)

// Ports of servers are below those that the system hands out by itself, which
// are 32768 and above: what has a port here before its server is started does
// not lose it to whoever connects or asks for any port.
const (
	firstPort = 10_500
	portSpan  = 10_000
)

// FreePort is a port of the loopback that nobody listens on, and neither does
// anybody 10,000 above it, where the nodes of a cluster speak to each other. No
// two calls of a process get the same.
func FreePort() string {
	for {
		port := firstPort + int((portBegin+portsSeen.Add(1))%portSpan)
		if vacant(port) && vacant(port+10_000) {
			return strconv.Itoa(port)
		}
	}
}

func vacant(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
