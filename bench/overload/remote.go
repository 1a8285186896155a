package overload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// remote is a backend in a process of its own.
type remote struct {
	command *exec.Cmd
	dir     string
	out     *bufio.Reader
	quota   *quota
	lines   []*line
	next    atomic.Uint64
	able    float64 // calls a second
}

// lines is how many connections a driver has: enough that none is a bottleneck.
const connections = 8

// startRemote starts the service and its shedder in another process, and
// measures the service, past the shedder.
func startRemote(ctx context.Context, r Run, e *Experiment) (*remote, error) {
	m := &remote{}
	if err := m.start(ctx, r, e); err != nil {
		return nil, errors.Join(err, m.clear())
	}
	m.able = m.measure(ctx)
	return m, nil
}

func (m *remote) start(ctx context.Context, r Run, e *Experiment) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if m.dir, err = os.MkdirTemp("", "overload"); err != nil {
		return err
	}
	socket := filepath.Join(m.dir, "service")
	args := []string{self, "serve", "-contestant", r.Contestant, "-setting", r.Setting, "-experiment", r.Experiment, "-socket", socket}
	if e.Quota {
		if m.quota, err = newQuota(oneCore); err != nil {
			return err
		}
		args = m.quota.inside(args)
	}
	m.command = exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // this program once more
	m.command.Stderr = os.Stderr
	stdout, err := m.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.command.Start(); err != nil {
		return err
	}
	m.out = bufio.NewReader(stdout)
	if _, err := m.said(func(line string) bool { return line == ready }); err != nil {
		return fmt.Errorf("overload: the service did not start: %w", err)
	}
	for range connections {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		m.lines = append(m.lines, newLine(conn))
	}
	return nil
}

// said reads what the process says until a line is the one; contestants write
// to the standard output too.
func (m *remote) said(wanted func(string) bool) (string, error) {
	for {
		text, err := m.out.ReadString('\n')
		if line := strings.TrimSpace(text); wanted(line) {
			return line, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// measured is how long a service that computes is tried out.
const measured = 1500 * time.Millisecond

// measure is how many calls a second the service does, with as many at once as
// keep the processor busy, in the way in which it will be called: what it can
// do depends on the machine and its neighbours, so it is measured before each
// run.
func (m *remote) measure(ctx context.Context) float64 {
	until := time.Now().Add(measured)
	var done atomic.Int64
	var group sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for time.Now().Before(until) && ctx.Err() == nil {
				f := newFrame(m.next.Add(1), Call{Class: priority.Normal, Due: until.Add(time.Second)})
				f.Bare = true
				if word, ok := m.exchange(ctx, &f); ok && word == wordServed {
					done.Add(1)
				}
			}
		})
	}
	began := until.Add(-measured)
	group.Wait()
	return max(float64(done.Load())/time.Since(began).Seconds(), 1)
}

func (m *remote) serve(ctx context.Context, c Call) (admitted, inTime bool) {
	f := newFrame(m.next.Add(1), c)
	word, ok := m.exchange(ctx, &f)
	return !ok || word != wordRefused, ok && word == wordServed
}

func (m *remote) exchange(ctx context.Context, f *frame) (word uint8, ok bool) {
	return m.lines[f.ID%connections].exchange(ctx, f)
}

func (m *remote) stream(context.Context, Call) bool { return false }

func (m *remote) slow(int) {} // what computes takes what it takes

func (m *remote) capacity() float64 { return m.able }

// patienceAtEnd is how long a service has to say what it used. One that was
// drowned has thousands of calls to do before it hears that nobody is left.
const patienceAtEnd = 3 * time.Second

func (m *remote) end() (processor float64, err error) {
	for _, l := range m.lines {
		l.conn.Close()
	}
	m.lines = nil
	kill := time.AfterFunc(patienceAtEnd, func() { _ = m.command.Process.Kill() })
	_, err = m.said(func(line string) bool { return json.Unmarshal([]byte(line), &processor) == nil })
	if kill.Stop() {
		return processor, errors.Join(err, m.clear())
	}
	_ = m.clear() // says that it was killed
	used := m.command.ProcessState
	return (used.UserTime() + used.SystemTime()).Seconds(), nil
}

func (m *remote) clear() (err error) {
	for _, l := range m.lines {
		l.conn.Close()
	}
	if m.command != nil && m.command.Process != nil {
		err = m.command.Wait()
	}
	if m.quota != nil {
		err = errors.Join(err, m.quota.remove())
	}
	return errors.Join(err, os.RemoveAll(m.dir))
}

// line is a connection with many calls under way.
type line struct {
	conn    net.Conn
	out     chan frame    // on their way: a service that does not read holds up no caller
	gone    chan struct{} // closed when the connection has ended
	mu      sync.Mutex
	waiting map[uint64]chan uint8 // who waits for which verdict
}

func newLine(conn net.Conn) *line {
	const many = 1024
	l := &line{conn: conn, out: make(chan frame, many), gone: make(chan struct{}), waiting: map[uint64]chan uint8{}}
	go l.listen()
	go l.send()
	return l
}

func (l *line) send() {
	for {
		select {
		case f := <-l.out:
			if write(l.conn, &f) != nil {
				return
			}
		case <-l.gone:
			return
		}
	}
}

func (l *line) listen() {
	defer close(l.gone)
	buffered := bufio.NewReader(l.conn)
	for {
		var v verdict
		if err := read(buffered, &v); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				fmt.Fprintln(os.Stderr, "overload:", err)
			}
			return
		}
		if answer := l.forget(v.ID); answer != nil {
			answer <- v.Word
		}
	}
}

// exchange sends a call and waits for its verdict, or until the caller leaves.
func (l *line) exchange(ctx context.Context, f *frame) (word uint8, ok bool) {
	answer := make(chan uint8, 1)
	l.mu.Lock()
	l.waiting[f.ID] = answer
	l.mu.Unlock()
	select {
	case l.out <- *f:
	case <-ctx.Done():
		l.forget(f.ID)
		return 0, false
	}
	select {
	case word = <-answer:
		return word, true
	case <-ctx.Done():
		l.forget(f.ID)
		return 0, false
	}
}

func (l *line) forget(id uint64) chan uint8 {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.waiting[id]
	delete(l.waiting, id)
	return answer
}
