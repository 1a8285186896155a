package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
)

// size is how many workers there are.
const size = 8

// member is a worker as its balancer sees it.
type member struct {
	command *exec.Cmd
	client  *load.Client
	state   *http.Request
	running atomic.Bool // neither killed nor frozen
	up      atomic.Bool // as far as the balancer knows
	missed  int         // looks in a row; for one goroutine
}

// crew is the workers, and a balancer before them. The members are replaced as
// a whole when one is started again.
type crew struct {
	redis   string
	members [size]atomic.Pointer[member]
	prober  *http.Client
}

// newCrew starts the workers.
func newCrew(ctx context.Context, redis string) (*crew, error) {
	c := &crew{redis: redis, prober: &http.Client{Timeout: 150 * time.Millisecond}}
	for i := range size {
		if err := c.start(ctx, i); err != nil {
			c.end()
			return nil, err
		}
	}
	return c, nil
}

// start starts a worker, this program once more.
func (c *crew) start(ctx context.Context, i int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	m := &member{command: exec.CommandContext(ctx, self, "worker", "-redis", c.redis)} //nolint:gosec // this program once more
	m.command.Stderr = os.Stderr
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := m.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.command.Start(); err != nil {
		return err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("fleet: worker %d did not start: %w", i, err), m.command.Wait())
	}
	base := &url.URL{Scheme: "http", Host: strings.TrimSpace(address), Path: "/"}
	m.client = load.NewClient(func(a load.Arrival) *http.Request {
		return &http.Request{Method: http.MethodGet, URL: base.JoinPath("/" + a.Class.String()), Header: http.Header{}}
	})
	m.state = &http.Request{Method: http.MethodGet, URL: base.JoinPath("/state"), Header: http.Header{}}
	m.running.Store(true)
	m.up.Store(true)
	c.members[i].Store(m)
	return nil
}

// signal kills, freezes or thaws a worker.
func (c *crew) signal(i int, s syscall.Signal) error {
	m := c.members[i].Load()
	m.running.Store(s == syscall.SIGCONT)
	err := m.command.Process.Signal(s)
	if s == syscall.SIGKILL {
		_ = m.command.Wait() // says that it was killed
	}
	return err
}

// do sends an arrival to a worker that is up, and once more to another when
// the connection failed.
func (c *crew) do(ctx context.Context, a load.Arrival) (answer load.Answer) {
	for attempt := range uint64(2) {
		m := c.pick(a.Pick/7 + attempt)
		if answer = m.client.Do(ctx, a); answer.Outcome != load.Failed {
			return answer
		}
		m.up.Store(false)
	}
	return answer
}

// pick is the n-th worker, or the next one that is up.
func (c *crew) pick(n uint64) *member {
	for i := range uint64(size) {
		if m := c.members[(n+i)%size].Load(); m.up.Load() {
			return m
		}
	}
	return c.members[n%size].Load()
}

// look asks a worker for its state; one that does not answer twice in a row is
// down until it answers.
func (c *crew) look(ctx context.Context, i int) (s State, ok bool) {
	m := c.members[i].Load()
	response, err := c.prober.Do(m.state.WithContext(ctx))
	if err == nil {
		err = json.NewDecoder(response.Body).Decode(&s)
		response.Body.Close()
	}
	if err != nil {
		m.missed++
		if m.missed > 1 {
			m.up.Store(false)
		}
		return s, false
	}
	m.missed = 0
	m.up.Store(true)
	return s, true
}

func (c *crew) end() {
	for i := range c.members {
		if m := c.members[i].Load(); m != nil && m.command.ProcessState == nil {
			_ = c.signal(i, syscall.SIGKILL)
			m.client.Close()
		}
	}
}
