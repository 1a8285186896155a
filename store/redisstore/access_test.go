package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/store"
)

// The permissions that are documented are enough for all that a store does, and
// none of them is too much.
func TestPermissions(t *testing.T) {
	srv := start(t)
	allow := func(rules string) *Store {
		args := []any{"ACL", "SETUSER", "limiter", "reset", "on", ">pass word", "~plimsoll:*", "&plimsoll:*"}
		for rule := range strings.FieldsSeq(rules) {
			args = append(args, rule)
		}
		srv.do(t, args...)
		srv.do(t, "FLUSHALL")
		srv.do(t, "SCRIPT", "FLUSH")
		s, err := New(Config{URL: "unix://limiter:pass%20word@" + srv.Socket + "?db=0", Patience: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	if err := useAll(t, allow(Permissions)); err != nil {
		t.Errorf("with all permissions: %v", err)
	}
	for _, rule := range strings.Fields(Permissions)[1:] {
		if useAll(t, allow(strings.Replace(Permissions, rule, "", 1))) == nil {
			t.Errorf("nothing needs %s", rule)
		}
	}
}

// useAll does all that a store can do.
func useAll(t *testing.T, s *Store) (err error) {
	l, held := bucketOf(t, 5), slotsOf(t, 5)
	brief, err := store.NewSlots("slots", 5, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b := batchOf("o", l, held)
	err = errors.Join(s.Claim(t.Context(), batchOf("o", brief)), s.Claim(t.Context(), b)) // the set is there, and has to last for longer
	back := func(i int) []store.Return {
		return []store.Return{{ID: b.ID, Owner: b.Claims[i].Owner, Limit: b.Claims[i].Limit, Handle: b.Grants[i].Handle, Tokens: 1}}
	}
	err = errors.Join(err, s.Renew(t.Context(), back(1)), s.Return(t.Context(), back(1)), s.Return(t.Context(), back(0)))
	loans := []store.Loan{{Owner: b.Claims[0].Owner, Limit: l, Want: 1, Parts: 1, Least: 1}}
	err = errors.Join(err, s.Lend(t.Context(), loans), loans[0].Err)
	_, syncErr := s.Sync(t.Context(), store.Report{Worker: "w", Epoch: 1})
	return errors.Join(err, syncErr, useControl(t, s.Control(0)))
}

// useControl changes the control state, and hears of it.
func useControl(t *testing.T, c *Control) error {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	heard := make(chan struct{}, 8)
	ended := make(chan error, 1)
	go func() { ended <- c.Watch(ctx, func() { heard <- struct{}{} }) }()
	select {
	case <-heard: // it listens
	case err := <-ended:
		return err
	}
	_, revision, _, err := c.Read(ctx)
	swapped, swapErr := c.Swap(ctx, revision, revision+1, []byte("state"), []byte("record"))
	records, recordsErr := c.Records(ctx, 1, 10)
	if err := errors.Join(err, swapErr, recordsErr); err != nil || !swapped || len(records) != 1 {
		return fmt.Errorf("swapped %t, %d records: %w", swapped, len(records), err)
	}
	select {
	case <-heard:
		return nil
	case err := <-ended:
		return err
	}
}

// Sentinels say where the server is; when it is lost, its replica takes over.
func TestSentinel(t *testing.T) {
	ports := [3]string{redistest.FreePort(), redistest.FreePort(), redistest.FreePort()}
	master := start(t, "--port", ports[0], "--bind", "127.0.0.1")
	start(t, "--port", ports[1], "--bind", "127.0.0.1", "--replicaof", "127.0.0.1 "+ports[0])
	sentinel := &server{redistest.Prepare(t, redistest.Config{Sentinel: true, Args: []string{"--port", ports[2]}, Settings: fmt.Sprintf(
		"sentinel monitor main 127.0.0.1 %s 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n", ports[0])})}
	sentinel.launch(t)
	eventually(t, "the replica is known", func() bool {
		return strings.Contains(fmt.Sprint(sentinel.do(t, "INFO", "sentinel")), "slaves=1")
	})
	s, err := New(Config{Addrs: []string{"127.0.0.1:" + ports[2]}, Master: "main", Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l := bucketOf(t, 1000)
	claim(t, s, batchOf("o", l))
	if n := master.do(t, "DBSIZE"); n != int64(1) {
		t.Errorf("the master has %d keys, want 1", n)
	}
	master.Kill()
	eventually(t, "a claim passes at the new master", func() bool { return s.Claim(t.Context(), batchOf("o", l)) == nil })
}
