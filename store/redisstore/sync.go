package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-go/plimsoll/store"
)

// The fleet's ledger lies in one key: a mark that is new with every write, and
// what Ledger.MarshalBinary wrote.
const (
	markSize = 16
	attempts = 50
	ledgerMS = 600_000 // a ledger nobody writes to for so long is as good as none
)

// Sync reports to the fleet's ledger, by the server's clock. It reads the
// ledger, reckons as store.Ledger does, and replaces it if nobody else did
// meanwhile; else it begins anew. So each report is one atomic step, of two
// round trips or, where workers meet, a few more. A step whose answer is lost
// may have been made: the worker then holds a lease that it does not know of.
func (s *Store) Sync(ctx context.Context, r store.Report) (store.View, error) {
	for attempt := range attempts {
		view, done, err := s.trySync(ctx, r)
		if err != nil {
			return store.View{}, wrap("sync", err)
		}
		if done {
			return view, nil
		}
		if err := pause(ctx, attempt); err != nil {
			return store.View{}, fmt.Errorf("redisstore: sync: %w", err)
		}
	}
	return store.View{}, errContended
}

var errContended = errors.New("redisstore: sync: the ledger changed under every attempt")

func (s *Store) trySync(ctx context.Context, r store.Report) (view store.View, done bool, err error) {
	record, now, generation, err := s.readLedger(ctx)
	if err != nil {
		return view, false, err
	}
	mark, data := record, ""
	if len(record) > markSize {
		mark, data = record[:markSize], record[markSize:]
	}
	var ledger store.Ledger
	if err := ledger.UnmarshalBinary([]byte(data)); err != nil {
		return view, false, fmt.Errorf("%w: %w", store.ErrKey, err)
	}
	r.Now = now
	view = ledger.Sync(r)
	view.Generation = generation
	written, err := ledger.MarshalBinary()
	if err != nil {
		return view, false, err
	}
	fresh := make([]byte, markSize, markSize+len(written))
	rand.Read(fresh)
	cmd, err := s.swap(ctx, mark, append(fresh, written...), ledgerMS)
	if err != nil {
		return view, false, err
	}
	swapped, err := cmd.Int()
	return view, swapped == 1, err
}

// readLedger returns the record, the moment in nanoseconds, and the revision of
// the control state.
func (s *Store) readLedger(ctx context.Context) (record string, now int64, generation uint64, err error) {
	cmd, err := s.swap(ctx)
	if err != nil {
		return "", 0, 0, err
	}
	answer, err := cmd.StringSlice()
	if err != nil {
		return "", 0, 0, err
	}
	if len(answer) != 4 {
		return "", 0, 0, fmt.Errorf("an answer of %d parts", len(answer))
	}
	seconds, err1 := strconv.ParseInt(answer[1], 10, 64)
	micros, err2 := strconv.ParseInt(answer[2], 10, 64)
	generation, err3 := strconv.ParseUint(answer[3], 10, 64)
	return answer[0], seconds*int64(time.Second) + micros*int64(time.Microsecond), generation, errors.Join(err1, err2, err3)
}

func (s *Store) swap(ctx context.Context, args ...any) (*redis.Cmd, error) {
	jobs := []job{{keys: []string{s.prefix + "{fleet}ledger", s.controlKey()}, args: append([]any{s.clock()}, args...)}}
	err := s.aside(ctx, s.swaps, jobs)
	return jobs[0].cmd, err
}

// pause lets workers that met go on one after the other.
func pause(ctx context.Context, attempt int) error {
	timer := time.NewTimer(mathrand.N(min(time.Duration(attempt+1)*time.Millisecond, 20*time.Millisecond)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
