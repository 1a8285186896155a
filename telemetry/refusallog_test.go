package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/match"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// lines is a place for records, one JSON object each.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) records(t *testing.T) (list []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, record)
	}
	return list
}

// logged runs a pipeline that refuses a host, with a log.
func logged(t *testing.T, c RefusalLogConfig, during func(p *pipeline.Pipeline)) []map[string]any {
	t.Helper()
	to := &lines{}
	c.Logger = slog.New(slog.NewJSONHandler(to, nil))
	synctest.Test(t, func(t *testing.T) {
		l, err := NewRefusalLog(c)
		if err != nil {
			t.Fatal(err)
		}
		observer := made(t, Config{Refusals: l})
		p := observed(t, observer, pipeline.Entry{Name: "limit", Kind: "ratelimit", Stage: refusing("refused", pipeline.RateLimited)})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx, observer) }()
		during(p)
		synctest.Wait()
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return to.records(t)
}

func refusedRequest(caller string) *pipeline.Request {
	return &pipeline.Request{
		Subject: match.Subject{Host: "refused"}, Class: priority.Low,
		Caller: pipeline.Caller{ID: store.KeyOf(caller), Name: caller},
	}
}

// Of a thousand refusals in a second two are logged, and a line sums up all.
func TestRefusalsAreSampledAndSummedUp(t *testing.T) {
	records := logged(t, RefusalLogConfig{PerSecond: 2}, func(p *pipeline.Pipeline) {
		for range 1000 {
			run(t.Context(), p, refusedRequest("alice"), 0)
		}
		run(t.Context(), p, &pipeline.Request{Class: priority.High}, 0)
		<-time.After(10 * time.Second) // a summary
		<-time.After(10 * time.Second) // none: nothing was refused
	})
	if len(records) != 3 {
		t.Fatalf("%d lines: %v", len(records), records)
	}
	for _, r := range records[:2] {
		for key, want := range map[string]string{
			"msg": "request refused", "class": "low", "reason": "rate-limited", "stage": "ratelimit", "entry": "limit", "event": "plimsoll.request.refused",
		} {
			if r[key] != want {
				t.Errorf("%s is %v, want %s", key, r[key], want)
			}
		}
		if caller, _ := r["caller"].(string); !strings.HasPrefix(caller, "#") || len(caller) != 9 || r["decision_id"] == "" {
			t.Errorf("caller %v, id %v", r["caller"], r["decision_id"])
		}
	}
	sum := records[2]
	low, _ := sum["low"].(map[string]any)
	high, _ := sum["high"].(map[string]any)
	if sum["refused"] != 1000.0 || sum["not_logged"] != 998.0 || low["offered"] != 1000.0 || low["rate-limited"] != 1000.0 || high["admitted"] != 1.0 || sum["level"] != "WARN" {
		t.Errorf("summary: %v", sum)
	}
}

// The identity of a caller is not told unless that is asked for, and no bytes
// of it make a second line.
func TestWhatCallersAreCalledInALog(t *testing.T) {
	const evil = "alice\n{\"msg\":\"forged\"}\xff\x1b[31m"
	for _, c := range []struct {
		callers bool
		want    string
	}{{false, "#" + store.KeyOf(evil).String()[:8]}, {true, "alice\n{\"msg\":\"forged\"}\uFFFD\x1b[31m"}} {
		records := logged(t, RefusalLogConfig{Callers: c.callers, Summary: -1}, func(p *pipeline.Pipeline) {
			run(t.Context(), p, refusedRequest(evil), 0)
		})
		if len(records) != 1 || records[0]["caller"] != c.want {
			t.Errorf("callers %v: %v", c.callers, records)
		}
	}
	var text bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("request refused", "caller", evil)
	if n := strings.Count(text.String(), "\n"); n != 1 || strings.Contains(text.String(), "\x1b") {
		t.Errorf("%d lines as text: %s", n, text.String())
	}
}

// A writer that stands still keeps nobody waiting: what does not fit is counted.
func TestALogThatStandsStill(t *testing.T) {
	l, err := NewRefusalLog(RefusalLogConfig{Logger: slog.New(slog.DiscardHandler), PerSecond: 1000})
	if err != nil {
		t.Fatal(err)
	}
	p := observed(t, made(t, Config{Refusals: l}), pipeline.Entry{Name: "limit", Stage: refusing("refused", pipeline.RateLimited)})
	for range 500 { // nobody runs it
		run(t.Context(), p, refusedRequest("a"), 0)
	}
	if l.Suppressed() != 500-64 {
		t.Errorf("%d were not logged, want %d", l.Suppressed(), 500-64)
	}
}

func TestARefusalThatIsNotLoggedAllocatesNothing(t *testing.T) {
	l, err := NewRefusalLog(RefusalLogConfig{Logger: slog.New(slog.DiscardHandler), PerSecond: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := observed(t, made(t, Config{Refusals: l}), pipeline.Entry{Name: "limit", Stage: refusing("refused", pipeline.RateLimited)})
	r := refusedRequest("a")
	if n := testing.AllocsPerRun(100, func() { p.Acquire(t.Context(), r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if _, err := NewRefusalLog(RefusalLogConfig{PerSecond: 1001, Summary: time.Microsecond}); err == nil || strings.Count(err.Error(), "telemetry:") != 3 {
		t.Errorf("faults: %v", err)
	}
}

// Requests that come late from the second before do not begin it again.
func TestTheBoundHoldsWhereSecondsMeet(t *testing.T) {
	l := &RefusalLog{config: RefusalLogConfig{PerSecond: 3}}
	admitted := 0
	for i := range 100 {
		now := int64(time.Hour)
		if i%2 == 0 {
			now -= int64(time.Millisecond)
		}
		if l.admits(&l.windows[0][1], now) {
			admitted++
		}
	}
	if admitted != 4 { // one in the second before, three in this
		t.Errorf("%d are logged, want 4", admitted)
	}
}
