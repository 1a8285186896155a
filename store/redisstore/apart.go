package redisstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// part is what a batch claims of one owner: in a cluster, of one slot.
type part struct {
	batch  store.Batch
	places []int // of its claims in the whole batch
	err    error
}

func oneOwner(b *store.Batch) bool {
	return !slices.ContainsFunc(b.Claims, func(c store.Claim) bool { return c.Owner != b.Claims[0].Owner })
}

// claimApart asks each owner for its part, all at once, and gives back what was
// granted if it was not granted by all.
func (s *Store) claimApart(ctx context.Context, b *store.Batch) error {
	begun := time.Now()
	parts := partsOf(b)
	var wg sync.WaitGroup
	for _, p := range parts {
		wg.Go(func() { p.err = s.claim(ctx, &p.batch) })
	}
	wg.Wait()
	var err error
	for _, p := range parts {
		if p.err != nil && (err == nil || errors.Is(err, store.ErrKey)) {
			err = p.err // one about a key must not hide that the store is gone
		}
		for i, place := range p.places {
			b.Grants[place] = p.batch.Grants[i]
		}
	}
	back := surplus(parts, b)
	if len(back) == 0 || b.Peek {
		return err
	}
	for i := range back {
		back[i].Now += int64(time.Since(begun))
	}
	patience := s.patience.base
	if b.Budget > 0 {
		patience = b.Budget - time.Since(begun)
	}
	s.giveBack(ctx, back, patience)
	return err
}

func partsOf(b *store.Batch) (parts []*part) {
	for i := range b.Claims {
		c := &b.Claims[i]
		n := slices.IndexFunc(parts, func(p *part) bool { return p.batch.Claims[0].Owner == c.Owner })
		if n < 0 {
			n = len(parts)
			parts = append(parts, &part{batch: store.Batch{ID: b.ID, Now: b.Now, Budget: b.Budget, Peek: b.Peek}})
		}
		p := parts[n]
		p.batch.Claims, p.batch.Grants = append(p.batch.Claims, *c), append(p.batch.Grants, store.Grant{})
		p.places = append(p.places, i)
	}
	return parts
}

// surplus is what parts granted and the whole does not, and corrects what they
// say remains.
func surplus(parts []*part, whole *store.Batch) (back []store.Return) {
	all := passed(whole)
	for _, p := range parts {
		if p.err != nil {
			all = [2]bool{}
		}
	}
	for _, p := range parts {
		if p.err != nil {
			continue
		}
		own := passed(&p.batch)
		for i, place := range p.places {
			c := &p.batch.Claims[i]
			if !own[c.Group] || all[c.Group] {
				continue
			}
			back = append(back, returnOf(&p.batch, i, p.batch.Now))
			whole.Grants[place].Remaining += c.Cost
			whole.Grants[place].Handle = 0
		}
	}
	return back
}

// giveBack returns what is too much, and waits for that no longer than is left.
func (s *Store) giveBack(ctx context.Context, back []store.Return, patience time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Return(context.WithoutCancel(ctx), back) // or leases and refills bring them back
	}()
	timer := time.NewTimer(max(patience, 0))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}
