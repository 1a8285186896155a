package otlp

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/telemetry"
)

// quiet is how long a failure is not logged again after it was.
const quiet = 10 * time.Second

// counts is what became of one signal.
type counts struct {
	signal       signal
	log          *slog.Logger
	sent, failed atomic.Uint64 // calls
	dropped      atomic.Uint64 // spans or records
	logged       atomic.Int64  // when last, in Unix nanoseconds
}

// ended takes note of a call, and reports whether it succeeded.
func (c *counts) ended(err error) bool {
	if err == nil {
		c.sent.Add(1)
		return true
	}
	failed := c.failed.Add(1)
	now, last := time.Now().UnixNano(), c.logged.Load()
	if now-last >= int64(quiet) && c.logged.CompareAndSwap(last, now) {
		c.log.Warn("pushing failed", "signal", c.signal.String(), "failed", failed, "dropped", c.dropped.Load(), "error", err)
	}
	return false
}

// Exports is the points of telemetry.OTLPExports; none for a signal that is
// not pushed.
func (p *Push) Exports() (points []telemetry.Point) {
	for i := range signals {
		if p.settings.on[i] {
			c := p.counts[i]
			points = append(points,
				telemetry.Point{Labels: []string{i.String(), "sent"}, Value: float64(c.sent.Load())},
				telemetry.Point{Labels: []string{i.String(), "failed"}, Value: float64(c.failed.Load())})
		}
	}
	return points
}

// Dropped is the points of telemetry.OTLPDropped. Metrics are never dropped:
// the next push brings the whole count.
func (p *Push) Dropped() (points []telemetry.Point) {
	for _, i := range []signal{traces, logs} {
		if p.settings.on[i] {
			points = append(points, telemetry.Point{Labels: []string{i.String()}, Value: float64(p.counts[i].dropped.Load())})
		}
	}
	return points
}
