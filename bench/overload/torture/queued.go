package torture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// leave has a thousand callers queue and leave: they must be gone at once, and
// not when the wait that they were allowed has passed.
func leave(s *Subject) error {
	if !s.Waits {
		return errNoQueue
	}
	const callers, wait = 1000, 8 * time.Second
	return on(s, Options{Room: 1, Wait: wait, Queue: callers}, func(r *rack) error {
		first := r.hold(1)
		first.room(1)
		waiting := r.hold(callers)
		if r.Queued != nil {
			eventually(func() bool { return r.Queued() == callers })
		} else {
			time.Sleep(10 * grace)
		}
		waiting.stop()
		gone := eventually(func() bool { return waiting.answered.Load() == callers })
		stayed := callers - waiting.answered.Load()
		close(waiting.open)
		if err := first.end(1); err != nil {
			return err
		}
		if !gone {
			return fmt.Errorf("%d stay queued %v after they left", stayed, enough)
		}
		return nil
	})
}

// leavesAtGrant has one place, whose holder leaves it while the one who waits
// for it gives up.
func leavesAtGrant(s *Subject) error {
	if !s.Waits {
		return errNoQueue
	}
	const times = 2000
	return on(s, Options{Room: 1, Wait: time.Second, Queue: some}, func(r *rack) error {
		for i := range times {
			release, ok := r.Acquire(0)
			if !ok {
				return fmt.Errorf("after %d rounds the place is lost", i)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var group sync.WaitGroup
			group.Go(func() { r.call(ctx) })
			if r.Queued != nil && i%2 == 0 {
				eventually(func() bool { return r.Queued() == 1 })
			}
			group.Go(cancel)
			group.Go(release)
			group.Wait()
		}
		return nil
	})
}

// free is how long nobody was in, when somebody gives up waiting, for the place
// to have been free: on a machine that is busy many wait long, and rightly so.
const free = 2 * time.Second

// crowd sends very many at once through one place. All must come back, one
// after the other; who is refused must be refused at once, and not wait in
// vain; who queues must be served in its turn.
func crowd(s *Subject) error {
	if !s.Caps {
		return errNoLimit
	}
	o := Options{Room: 1}
	if s.Waits {
		o.Wait, o.Queue = 10*time.Second, crowdSize
	}
	err := on(s, o, func(r *rack) error {
		var inside, most, inVain, last atomic.Int64
		r.does(func(http.ResponseWriter, *http.Request) {
			n := inside.Add(1)
			for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
			}
			inside.Add(-1)
			last.Store(time.Now().UnixNano())
		})
		var group sync.WaitGroup
		for range crowdSize {
			group.Go(func() {
				began := time.Now()
				if r.call(context.Background()) != http.StatusOK && time.Since(began) > o.Wait/2 && time.Since(time.Unix(0, last.Load())) > free {
					inVain.Add(1)
				}
			})
		}
		group.Wait()
		switch {
		case most.Load() > 1:
			return fmt.Errorf("%d were in at once, with room for 1", most.Load())
		case s.Waits && inVain.Load() > 0:
			return fmt.Errorf("%d of %d waited %v, at last for a place that was free", inVain.Load(), crowdSize, o.Wait)
		}
		return nil
	})
	if err != nil || !s.Waits {
		return err
	}
	return on(s, Options{Room: 1, Wait: 2 * enough, Queue: 64}, inTurn)
}

// young is how long a queue may have stood while its order is looked at: ours
// serves one that has stood for 100ms newest first, on purpose.
const young = 60 * time.Millisecond

// inTurn compares the order in which callers queue with that in which they come
// in. On a machine that takes its time it tries again.
func inTurn(r *rack) error {
	for range 50 {
		order, took, err := r.queueUp(12)
		if err != nil {
			return err
		}
		if took < young {
			if !slices.IsSorted(order) {
				return fmt.Errorf("callers that queued one after the other were let in as %v", order)
			}
			return nil
		}
	}
	return errors.New("this machine is too busy to look at the order of a queue")
}

// queueUp has callers queue one after the other, and says in which order they
// came in, and how long the queueing took.
func (r *rack) queueUp(callers int) (order []int, took time.Duration, err error) {
	release, ok := r.Acquire(0)
	if !ok {
		return nil, 0, errors.New("the only place was refused")
	}
	type number struct{}
	var mu sync.Mutex
	r.does(func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n, _ := q.Context().Value(number{}).(int)
		order = append(order, n)
	})
	var group sync.WaitGroup
	began := time.Now()
	for i := range callers {
		group.Go(func() { r.call(context.WithValue(context.Background(), number{}, i)) })
		if r.Queued == nil {
			time.Sleep(young / 30)
		} else {
			eventually(func() bool { return r.Queued() == i+1 })
		}
	}
	took = time.Since(began)
	release()
	group.Wait()
	if len(order) != callers {
		return nil, 0, fmt.Errorf("%d of %d that queued came in", len(order), callers)
	}
	return order, took, nil
}
