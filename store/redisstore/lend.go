package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-go/plimsoll/store"
)

var _ store.Lender = (*Store)(nil)

// loanSize is the length of a script's answer to one loan.
const loanSize = answerSize + 8

// Lend decides loans in one round trip, each by one script of about the cost of
// a claim. What is lent on a connection that broke may have been charged: it
// refills.
func (s *Store) Lend(ctx context.Context, loans []store.Loan) error {
	jobs := make([]job, len(loans))
	for i := range loans {
		loans[i].Lent, loans[i].Grant, loans[i].Err = 0, store.Grant{}, nil
		j, err := s.loan(&loans[i])
		if err != nil {
			return fmt.Errorf("redisstore: lend: %w: %w", store.ErrKey, err)
		}
		jobs[i] = j
	}
	if err := s.aside(ctx, s.lends, jobs); err != nil {
		return wrap("lend", err)
	}
	var failed error
	lent := 0
	for i := range loans {
		if loans[i].Err = answerToLoan(jobs[i].cmd, &loans[i]); loans[i].Err == nil {
			lent++
		} else if failed == nil || !errors.Is(loans[i].Err, store.ErrKey) {
			failed = loans[i].Err
		}
	}
	if lent > 0 {
		return nil
	}
	return failed
}

// loan is the call of the script for one loan.
func (s *Store) loan(l *store.Loan) (job, error) {
	t, err := termsOf(l.Limit)
	if err != nil {
		return job{}, err
	}
	packed := t.append(make([]byte, 0, 64))
	for _, v := range []int64{l.Want, l.Parts, l.Least} {
		packed = appendFigure(packed, float64(v))
	}
	return job{keys: []string{s.keyOf(l.Owner, l.Limit)}, args: append(s.header(), packed)}, nil
}

func answerToLoan(cmd *redis.Cmd, l *store.Loan) error {
	answer, err := cmd.Text()
	if err != nil {
		return wrap("lend", err)
	}
	if len(answer) != loanSize {
		return fmt.Errorf("redisstore: lend: an answer of %d bytes", len(answer))
	}
	l.Grant, l.Lent = decodeRecord(answer), int64(figure([]byte(answer[answerSize:])))
	return nil
}
