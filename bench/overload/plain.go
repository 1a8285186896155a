package overload

import (
	"context"
	"fmt"
)

// nothing lets everything through.
func nothing() Contestant {
	return Contestant{"nothing", []Setting{{"none", func(*Service) (Shedder, error) { return open{}, nil }}}}
}

type open struct{}

func (open) Serve(ctx context.Context, _ Call, work Work) bool {
	_ = work(ctx) // late is late
	return true
}

func (open) Close() {}

// fixedCap refuses what is above a number of calls in flight, whoever calls.
func fixedCap() Contestant {
	c := Contestant{Name: "fixed cap"}
	for _, n := range []int{20, 40, 8} {
		c.Settings = append(c.Settings, Setting{fmt.Sprint(n), func(*Service) (Shedder, error) {
			return places(make(chan struct{}, n)), nil
		}})
	}
	return c
}

type places chan struct{}

func (p places) Serve(ctx context.Context, _ Call, work Work) bool {
	select {
	case p <- struct{}{}:
	default:
		return false
	}
	defer func() { <-p }()
	_ = work(ctx) // late is late
	return true
}

func (places) Close() {}
