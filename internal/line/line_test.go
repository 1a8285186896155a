package line

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestTheFirstToComeIsTheFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Lines[string]{Max: 9}
		leave, err := l.Join(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int
		for i := range 9 {
			go func() {
				leave, err := l.Join(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				leave()
			}()
			synctest.Wait() // the next comes when this one stands
		}
		if _, err := l.Join(t.Context(), "k"); !errors.Is(err, ErrFull) {
			t.Errorf("the eleventh got %v", err)
		}
		if other, err := l.Join(t.Context(), "other"); err != nil {
			t.Errorf("another key: %v", err)
		} else {
			other()
		}
		if len(order) != 0 {
			t.Errorf("%v passed the one at the front", order)
		}
		leave()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}) || len(l.lines) != 0 {
			t.Errorf("order %v, %d lines left", order, len(l.lines))
		}
	})
}

func TestWhoGivesUpHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Lines[string]{Max: 9}
		front, _ := l.Join(t.Context(), "k")
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		gaveUp, served := make(chan error, 1), make(chan error, 1)
		go func() { _, err := l.Join(ctx, "k"); gaveUp <- err }()
		synctest.Wait()
		go func() {
			leave, err := l.Join(t.Context(), "k")
			if err == nil {
				leave()
			}
			served <- err
		}()
		synctest.Wait()
		cancel(cause)
		if err := <-gaveUp; !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		front()
		if err := <-served; err != nil {
			t.Errorf("the one behind got %v", err)
		}
	})
}

// At the very moment of giving up the front may have been handed over. Both
// ways out of the select are right, and neither may leave a line behind.
func TestTheFrontIsNeverLost(t *testing.T) {
	l := Lines[int]{Max: 100}
	var group sync.WaitGroup
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		front, err := l.Join(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			if leave, err := l.Join(ctx, 1); err == nil {
				leave()
			}
		})
		group.Go(cancel)
		group.Go(front)
		group.Wait()
		if len(l.lines) != 0 {
			t.Fatal("a line is left behind")
		}
	}
}
