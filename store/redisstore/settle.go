package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// Return gives back slots, and gives back, charges or resets tokens, in one
// round trip. It is sent once: what may have arrived is not sent again.
func (s *Store) Return(ctx context.Context, returns []store.Return) error {
	return s.settle(ctx, "return", returns, whatOf)
}

// Renew prolongs the leases of slots that are still held, in one round trip.
func (s *Store) Renew(ctx context.Context, held []store.Return) error {
	return s.settle(ctx, "renew", held, func(r *store.Return) string {
		if r.Limit.Kind == store.Slots {
			return "renew"
		}
		return ""
	})
}

// whatOf is the word of the script for a return; none if it changes nothing.
func whatOf(r *store.Return) string {
	switch {
	case r.Limit.Kind == store.Slots:
		return "free"
	case r.Reset:
		return "reset"
	case r.Tokens < 0:
		return "charge"
	case r.Tokens == 0:
		return ""
	case r.AnyGrant:
		return "any"
	}
	return "give"
}

func (s *Store) settle(ctx context.Context, operation string, returns []store.Return, what func(*store.Return) string) error {
	var errs []error
	jobs := make([]job, 0, len(returns))
	for i := range returns {
		word := what(&returns[i])
		if word == "" {
			continue
		}
		j, err := s.settlement(&returns[i], word)
		if err != nil {
			errs = append(errs, fmt.Errorf("redisstore: %s: %w: %w", operation, store.ErrKey, err))
			continue
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return join(errs)
	}
	if err := s.aside(ctx, s.settles, jobs); err != nil {
		return wrap(operation, err)
	}
	s.follow(ctx, jobs)
	for i := range jobs {
		switch err := jobs[i].cmd.Err(); {
		case redirected(err):
			errs = append(errs, fmt.Errorf("redisstore: %s: %w: %w", operation, store.ErrUnavailable, err))
		case err != nil:
			errs = append(errs, wrap(operation, err))
		}
	}
	return join(errs)
}

// How often what is given back looks for a slot of a cluster that moves.
const (
	lookAgain = 4
	lookEvery = 20 * time.Millisecond
)

// follow sends again what met a slot of a cluster that is elsewhere or moving:
// nothing of it has run.
func (s *Store) follow(ctx context.Context, jobs []job) {
	for range lookAgain {
		var moved []int
		for i := range jobs {
			if err := jobs[i].cmd.Err(); redirected(err) {
				moved = append(moved, i)
				s.doubt(err)
			}
		}
		if len(moved) == 0 || wait(ctx, lookEvery) != nil {
			return
		}
		again := make([]job, len(moved))
		for i, n := range moved {
			again[i] = jobs[n]
		}
		if s.aside(ctx, s.settles, again) != nil {
			return
		}
		for i, n := range moved {
			jobs[n].cmd = again[i].cmd
		}
	}
}

// redirected reports whether an error says that a key is in another place.
func redirected(err error) bool {
	return err != nil && slices.ContainsFunc([]string{"MOVED ", "ASK ", "TRYAGAIN"}, func(word string) bool { return strings.HasPrefix(err.Error(), word) })
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join is all errors, and about keys only if all of them are: an error about
// one key must not hide that the store is gone.
func join(errs []error) error {
	for _, err := range errs {
		if !errors.Is(err, store.ErrKey) {
			return err
		}
	}
	return errors.Join(errs...)
}

// settlement is the call for one return. Between grant and return, time is
// what the asker's clock says, which is the same one twice.
func (s *Store) settlement(r *store.Return, what string) (job, error) {
	t, err := termsOf(r.Limit)
	if err != nil {
		return job{}, err
	}
	keys := []string{s.keyOf(r.Owner, r.Limit)}
	if what == "free" {
		return job{command: "ZREM", keys: keys, args: []any{r.ID.AppendTo(nil)}}, nil // a script would cost three times as much
	}
	packed := t.append(make([]byte, 0, 64))
	packed = appendFigure(packed, math.Abs(float64(r.Tokens)))
	packed = appendFigure(packed, float64(r.Handle))
	packed = appendFigure(packed, float64(elapsed(r.At, r.Now)))
	return job{
		keys: keys,
		args: append(s.header(), what, r.ID.AppendTo(nil), packed),
	}, nil
}

// elapsed is microseconds, rounded up.
func elapsed(from, to int64) uint64 {
	ns := uint64(max(from, to)) - uint64(from)
	return ns/uint64(time.Microsecond) + min(ns%uint64(time.Microsecond), 1)
}
