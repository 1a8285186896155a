package redisstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// errand is one call of the script, and whose it is: one call's, or that of
// several that go the same way through it.
type errand struct {
	job   job
	calls []*call
}

// errands are the calls of the script for those that leave together: one for
// each way, and for each that goes the general one. In a cluster each has its
// own, for their keys lie in many slots.
func (s *Store) errands(calls []*call) (list []errand) {
	if len(calls) == 1 {
		return oneEach(calls)
	}
	list = make([]errand, 0, len(calls))
	places := map[string]int{}
	for _, c := range calls {
		way := c.job.way
		if way == "" || s.cluster || s.apart.has(c.limit()) {
			list = append(list, errand{c.job, []*call{c}})
			continue
		}
		place, ok := places[way]
		if !ok {
			place, places[way] = len(list), len(list)
			list = append(list, errand{job: c.job})
		}
		list[place].calls = append(list[place].calls, c)
	}
	for _, place := range places {
		if e := &list[place]; len(e.calls) > 1 {
			e.job = shared(e.calls)
		}
	}
	return list
}

func oneEach(calls []*call) (list []errand) {
	for _, c := range calls {
		list = append(list, errand{c.job, []*call{c}})
	}
	return list
}

// shared is one call of the script for several that go the same way: the first
// one's, and of each further one its keys and what it says of itself.
func shared(calls []*call) job {
	first := &calls[0].job
	j := job{keys: slices.Clone(first.keys), args: slices.Clone(first.args)}
	for _, c := range calls[1:] {
		own := c.job.args
		j.keys = append(j.keys, c.job.keys...)
		if first.way == ofBucket {
			j.args = append(j.args, own[2], own[3]) // the cost, and how the state begins
		} else {
			j.args = append(j.args, own[2], own[4]) // the id, and the claims
		}
	}
	return j
}

// limit is which limit the first claim of a call is on.
func (c *call) limit() uint64 { return c.batch.Claims[0].Limit.ID }

// send runs errands and delivers their answers. It returns the calls that a
// shared one handed over, of which nothing has been done, and what came for
// nobody.
func (s *Store) send(ctx context.Context, errands []errand) (handed []*call, ghosts []store.Return) {
	jobs := make([]job, len(errands))
	for i := range errands {
		jobs[i] = errands[i].job
	}
	s.claims.run(ctx, s.client, jobs)
	s.patience.heard(jobs[0].cmd.Err())
	for i := range errands {
		answers, err := answersTo(&jobs[i], len(errands[i].calls))
		for n, c := range errands[i].calls {
			switch {
			case err != nil:
				c.err = err
			case answers[n] == nil:
				s.apart.add(c.limit())
				handed = append(handed, c)
				continue
			default:
				c.err = decode(answers[n], &c.batch)
			}
			s.doubt(c.err)
			if !c.deliver() {
				ghosts = append(ghosts, c.ghosts()...)
			}
		}
	}
	return handed, ghosts
}

// answersTo are the answers to an errand of so many calls.
func answersTo(j *job, calls int) ([]any, error) {
	if err := j.cmd.Err(); err != nil {
		return nil, wrap("claim", err)
	}
	if calls == 1 {
		return []any{j.cmd.Val()}, nil
	}
	answers, ok := j.cmd.Val().([]any)
	if !ok || len(answers) != calls {
		return nil, fmt.Errorf("redisstore: claim: an answer of type %T to %d calls", j.cmd.Val(), calls)
	}
	return answers, nil
}

// apart are limits whose claims have calls of their own for now, because one was
// handed over: that is a second trip.
type apart struct{ until sync.Map } // by the limit's ID

// apartFor is how long that lasts.
const apartFor = time.Second

func (a *apart) add(limit uint64) { a.until.Store(limit, time.Now().Add(apartFor)) }

func (a *apart) has(limit uint64) bool {
	until, ok := a.until.Load(limit)
	return ok && time.Now().Before(until.(time.Time)) //nolint:forcetypeassert // add stores nothing else
}
