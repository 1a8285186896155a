package telemetry

import (
	"context"
	"log/slog"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// tally is what was decided, up to a moment or between two.
type tally struct {
	decided    [priority.Count][outcomes]uint64
	refused    [priority.Count][pipeline.Reasons + 1]uint64
	suppressed uint64
}

// tally reads what was decided since the start.
func (t *Telemetry) tally(l *RefusalLog) (now tally) {
	for class := range priority.Count {
		for o := range outcomes {
			read := t.decided(class, o)
			now.decided[class][o] = read.total()
		}
	}
	for _, e := range t.entries.list() {
		e.eachRefusal(func(mode pipeline.Mode, class priority.Class, reason pipeline.Reason, n uint64) {
			if mode == pipeline.Enforce {
				now.refused[class.Index()][reason] += n
			}
		})
	}
	now.suppressed = l.Suppressed()
	return now
}

// since is what was decided after an earlier tally.
func (t tally) since(earlier *tally) *tally {
	for class := range t.decided {
		for o := range t.decided[class] {
			t.decided[class][o] -= earlier.decided[class][o]
		}
		for reason := range t.refused[class] {
			t.refused[class][reason] -= earlier.refused[class][reason]
		}
	}
	t.suppressed -= earlier.suppressed
	return &t
}

// log writes one line, unless nothing was refused.
func (t *tally) log(log *slog.Logger, span time.Duration) {
	refused := uint64(0)
	attributes := []slog.Attr{slog.String("event", "plimsoll.refusals.summary"), slog.Duration("interval", span)}
	for i := len(priority.All) - 1; i >= 0; i-- {
		class := priority.All[i]
		if offered := t.offered(class.Index()); offered > 0 {
			attributes = append(attributes, t.class(class, offered))
		}
		refused += t.decided[class.Index()][rejected]
	}
	if refused == 0 {
		return
	}
	attributes = append(attributes, slog.Uint64("refused", refused), slog.Uint64("not_logged", t.suppressed))
	log.LogAttrs(context.Background(), slog.LevelWarn, "requests were refused", attributes...)
}

func (t *tally) offered(class int) (n uint64) {
	for _, count := range t.decided[class] {
		n += count
	}
	return n
}

// class is the part of one class: what came of it, and why.
func (t *tally) class(c priority.Class, offered uint64) slog.Attr {
	i := c.Index()
	list := []any{
		slog.Uint64("offered", offered), slog.Uint64("admitted", t.decided[i][admitted]), slog.Uint64("refused", t.decided[i][rejected]),
	}
	for reason, n := range t.refused[i] {
		if n > 0 {
			list = append(list, slog.Uint64(pipeline.Reason(reason).String(), n))
		}
	}
	return slog.Group(c.String(), list...)
}
