package proxy

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// noise passes on what net/http reports, ten messages in ten seconds: some of
// it clients can bring about as often as they like.
type noise struct {
	to *slog.Logger // nil: nobody

	mu      sync.Mutex
	since   time.Time // when the current ten seconds began
	passed  int       // messages in them
	dropped int       // messages that nobody has heard of
}

const noiseMessages = 10

// newNoise is a logger for http.Server.
func newNoise(to *slog.Logger) *log.Logger { return log.New(&noise{to: to}, "", 0) }

// Write implements io.Writer; it gets one message.
func (n *noise) Write(message []byte) (int, error) {
	if n.to == nil {
		return len(message), nil
	}
	if dropped, pass := n.admit(time.Now()); pass {
		n.to.Warn(strings.TrimSpace(string(message)), "dropped", dropped)
	}
	return len(message), nil
}

// admit says whether a message passes, and how many did not since the last.
func (n *noise) admit(now time.Time) (dropped int, pass bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.since) >= quiet {
		n.since, n.passed = now, 0
	}
	if n.passed++; n.passed > noiseMessages {
		n.dropped++
		return 0, false
	}
	dropped, n.dropped = n.dropped, 0
	return dropped, true
}
