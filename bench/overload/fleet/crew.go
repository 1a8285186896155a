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
	slow    bool        // its handlers take twice as long
	running atomic.Bool // neither killed nor frozen
	up      atomic.Bool // as far as the balancer knows
	missed  int         // looks in a row; for one goroutine
}

// crew is the workers, and a balancer before them. The members are replaced as
// a whole when one is started again.
type crew struct {
	redis   string
	slow    int // how many of them are
	members [size]atomic.Pointer[member]
	prober  *http.Client
	fates   fates
}

// newCrew starts the workers.
func newCrew(ctx context.Context, redis string, slow int) (*crew, error) {
	c := &crew{redis: redis, slow: slow, prober: &http.Client{Timeout: 150 * time.Millisecond}}
	for i := range size {
		if err := c.start(ctx, i); err != nil {
			c.end()
			return nil, err
		}
	}
	return c, nil
}

// able is what all of them can do, in calls a second.
func (c *crew) able() (sum float64) {
	for i := range c.members {
		sum += c.members[i].Load().able()
	}
	return sum
}

// start starts a worker, this program once more.
func (c *crew) start(ctx context.Context, i int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	m := &member{slow: isSlow(i, c.slow)}
	m.command = exec.CommandContext(ctx, self, "worker", "-redis", c.redis, "-service", m.service().String()) //nolint:gosec // this program once more
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

// isSlow reports whether the i-th worker is among the slow ones: every second
// one, as many as there are to be, half of all at most.
func isSlow(i, slow int) bool { return i%2 == 1 && i/2 < slow }

// service is how long its handlers take.
func (m *member) service() time.Duration {
	if m.slow {
		return 2 * service
	}
	return service
}

// able is what it can do, in calls a second.
func (m *member) able() float64 { return slots / m.service().Seconds() }

// do sends an arrival to a worker that is up, and once more to another when
// the connection failed.
func (c *crew) do(ctx context.Context, a load.Arrival) (answer load.Answer) {
	for attempt := range uint64(2) {
		m := c.pick(a.Pick/7 + attempt)
		ran := m.running.Load()
		answer = m.client.Do(ctx, a)
		c.fates.note(a, m, ran, answer)
		if answer.Outcome != load.Failed {
			return answer
		}
		m.up.Store(false)
	}
	return answer
}

// pick is the n-th of the workers that are up, so that what one that is down
// would have had is spread over all of them.
func (c *crew) pick(n uint64) *member {
	var up [size]*member
	count := uint64(0)
	for i := range c.members {
		if m := c.members[i].Load(); m.up.Load() {
			up[count] = m
			count++
		}
	}
	if count == 0 {
		return c.members[n%size].Load()
	}
	return up[n%count]
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
