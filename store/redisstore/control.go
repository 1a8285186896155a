package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Control keeps the control state of a fleet and its audit trail. It is what
// package control calls a Storage. A change is one script, so it is made with
// its record or not at all; a server that is not told to keep its data may lose
// both. Sync brings the revision of the state as the view's generation. Make
// one with Store.Control. All methods may be called concurrently; a call that
// was not answered may have run.
type Control struct {
	store   *Store
	script  *script
	name    string
	records int
}

// DefaultMaxRecords is how many records of the audit trail are kept.
const DefaultMaxRecords = 100_000

// Control is the control state beside the limits of a store, on its server and
// under its prefix. It keeps the last maxRecords records; 0 means
// DefaultMaxRecords.
func (s *Store) Control(maxRecords int) *Control {
	if maxRecords <= 0 {
		maxRecords = DefaultMaxRecords
	}
	return &Control{s, newScript(controlSource), "control", maxRecords}
}

// Tokens keeps the hashes of the keys to the admin API of a fleet beside its
// control state, in the same way.
func (s *Store) Tokens() *Control {
	const changes = 1000 // that is how many are remembered
	return &Control{s, newScript(controlSource), "tokens", changes}
}

// keys lie in the slot of the fleet's ledger, so that one script can read both.
func (s *Store) controlKey() string { return s.prefix + "{fleet}control" }

func (c *Control) keys() []string {
	if c.name == "control" {
		return []string{c.store.controlKey(), c.store.prefix + "{fleet}audit"}
	}
	return []string{c.store.prefix + "{fleet}" + c.name, c.store.prefix + "{fleet}" + c.name + "-audit"}
}

func (c *Control) channel() string {
	if c.name == "control" {
		return c.store.prefix + "{fleet}changes"
	}
	return c.store.prefix + "{fleet}" + c.name + "-changes"
}

func (c *Control) run(ctx context.Context, args ...any) (any, error) {
	jobs := []job{{keys: c.keys(), args: args}}
	if err := c.store.aside(ctx, c.script, jobs); err != nil {
		return nil, fmt.Errorf("redisstore: control %s: %w", args[0], err)
	}
	answer, err := jobs[0].cmd.Result()
	if err != nil {
		return nil, wrap(fmt.Sprint("control ", args[0]), err)
	}
	return answer, nil
}

// Read returns the state, its revision, and the server's clock in nanoseconds
// since the epoch.
func (c *Control) Read(ctx context.Context) (state []byte, revision uint64, now int64, err error) {
	answer, err := c.run(ctx, "read")
	if err != nil {
		return nil, 0, 0, err
	}
	parts := texts(answer)
	if len(parts) != 4 {
		return nil, 0, 0, fmt.Errorf("redisstore: control read: an answer of %d parts", len(parts))
	}
	revision, err1 := strconv.ParseUint(parts[1], 10, 64)
	seconds, err2 := strconv.ParseInt(parts[2], 10, 64)
	micros, err3 := strconv.ParseInt(parts[3], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, 0, 0, fmt.Errorf("redisstore: control read: %w", err)
	}
	return []byte(parts[0]), revision, seconds*int64(time.Second) + micros*int64(time.Microsecond), nil
}

// Swap replaces the state and appends a record, if the revision is still the
// one named.
func (c *Control) Swap(ctx context.Context, revision, next uint64, state, record []byte) (swapped bool, err error) {
	answer, err := c.run(ctx, "swap", revision, next, state, record, c.records, c.channel())
	return answer == int64(1), err
}

// Records returns records in their order, at most most, from the from-th that
// was ever appended; the oldest that is left if that one is gone.
func (c *Control) Records(ctx context.Context, from uint64, most int) (records [][]byte, err error) {
	answer, err := c.run(ctx, "page", from, most)
	for _, text := range texts(answer) {
		records = append(records, []byte(text))
	}
	return records, err
}

// Watch calls changed after each change, and once when it begins to hear of
// them, until the context or the connection ends.
func (c *Control) Watch(ctx context.Context, changed func()) error {
	subscription := c.store.client.Subscribe(ctx, c.channel())
	defer subscription.Close()
	defer context.AfterFunc(ctx, func() { subscription.Close() })() // the client library reads on when the context ends
	for {
		if _, err := subscription.Receive(ctx); err != nil {
			return fmt.Errorf("redisstore: control watch: %w", err)
		}
		changed()
	}
}

// texts is an answer that is a list of strings.
func texts(answer any) (list []string) {
	parts, _ := answer.([]any)
	for _, p := range parts {
		text, _ := p.(string)
		list = append(list, text)
	}
	return list
}
