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

// At the very moment of giving up the front may have been handed over.
func TestTheFrontIsNeverLost(t *testing.T) {
	l := Lines[int]{Max: 9}
	front, err := l.Join(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var turns []chan struct{}
	for range 2 {
		turn, err := l.enter(1)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	front()
	<-turns[0]
	l.abandon(1, turns[0])
	select {
	case <-turns[1]:
	default:
		t.Error("who was handed the front and gave up did not pass it on")
	}
	l.abandon(1, turns[1])
	if len(l.lines) != 0 {
		t.Error("a line is left behind")
	}
}

func TestUnderPressureOneIsAtTheFront(t *testing.T) {
	l := Lines[int]{Max: 1000}
	var inside int // guarded by the line: the race detector looks on
	var group sync.WaitGroup
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() {
			if leave, err := l.Join(ctx, 1); err == nil {
				inside++
				leave()
			}
		})
		if i%2 == 0 {
			group.Go(cancel)
		} else {
			defer cancel()
		}
	}
	group.Wait()
	if inside < 100 || len(l.lines) != 0 {
		t.Errorf("%d were at the front, %d lines are left", inside, len(l.lines))
	}
}
