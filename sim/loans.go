package sim

import (
	"context"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

var _ store.Lender = (*link)(nil)

// Lend borrows tokens for hot keys. A loan whose answer is lost may have been
// made.
func (l *link) Lend(_ context.Context, loans []store.Loan) error {
	own := slices.Clone(loans)
	err := l.exchange(lending, func() error { return l.shared.lend(l.worker, own) })
	if err == nil {
		copy(loans, own)
	}
	return err
}

// lend decides loans, as the server carries them out.
func (s *shared) lend(w *worker, loans []store.Loan) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	for i := range loans {
		l := &loans[i]
		claim := store.Claim{Owner: l.Owner, Limit: l.Limit}
		g, err := store.PeekOne(context.Background(), s.memory, claim, now)
		if err != nil {
			return err
		}
		l.Grant, l.Lent = g, 0
		claim.Cost = min(l.Want, g.Remaining/l.Parts)
		if l.Grant.OK = claim.Cost >= max(1, l.Least); !l.Grant.OK {
			continue
		}
		if l.Grant, err = store.ClaimOne(context.Background(), s.memory, claim, now); err != nil {
			return err
		}
		l.Lent = claim.Cost
		s.checks.lent(w, &claim, &l.Grant, now)
	}
	return nil
}

// account is what a worker may still admit of one owner on what the store
// granted it, by claims and loans.
type account struct{ tokens int64 }

func (c *checks) account(w *worker, owner store.Key) *account {
	key := localKey{w, owner}
	a := c.accounts[key]
	if a == nil {
		a = new(account)
		c.accounts[key] = a
	}
	return a
}

// lent checks a loan that the store has just decided: it is charged as a claim.
func (c *checks) lent(w *worker, claim *store.Claim, grant *store.Grant, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.world.record.lent()
	c.account(w, claim.Owner).tokens += claim.Cost
	c.tokensGranted(claim, grant, now)
}

// spent checks a request that is admitted on tokens of the store: never more
// than it granted the worker, and in any window of W never more than
// B + R·W + N·b, with N·b ≤ B/2, and as much more for each loss of data. It may
// be admitted as much later than it was granted as a decision takes.
func (c *checks) spent(w *worker, r *pipeline.Request) {
	owner := byCaller.Key(r)
	a := c.account(w, owner)
	if a.tokens--; a.tokens < 0 {
		c.world.journal.violate("token leases", "worker %d admitted %d requests of caller %s more than the store granted it tokens",
			w.place+1, -a.tokens, c.world.callerName(owner))
	}
	if c.world.scenario.setup.hot == 0 || c.stepped {
		return
	}
	t := c.admissions[owner]
	if t == nil {
		t = new(twin)
		c.admissions[owner] = t
	}
	t.grant(1, c.rate, time.Now().UnixNano(), c.losses)
	late := c.rate * longestDecision.Seconds()
	if over := t.excess(1.5*float64(c.tokens.Burst), c.losses) - late; over > 0 {
		c.world.journal.violate("token leases", "of caller %s %.1f requests more than B + R·W + N·b were admitted in some window", c.world.callerName(owner), over)
	}
}
