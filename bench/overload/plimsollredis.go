package overload

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// away is how far the server of plimsollOnRedis is, there and back.
const away = time.Millisecond

// plimsollOnRedis is ours with a real server, a millisecond away, on the path
// of every call: what callers use is counted there.
func plimsollOnRedis() Contestant {
	return Contestant{"plimsoll on Redis", []Setting{
		{"1 ms away, twice what saturates", func(s *Service) (Shedder, error) { return newOnRedis(2 * max(s.Slots, slots)) }},
	}}
}

// onRedis is the shedder with its server, and the way to it.
type onRedis struct {
	Shedder
	server *redistest.Server
	way    *redistest.Proxy
}

func newOnRedis(room int) (_ Shedder, err error) {
	o := new(onRedis)
	defer func() {
		if err != nil {
			o.end()
		}
	}()
	if o.server, err = redistest.New(redistest.Config{}); err != nil {
		return nil, err
	}
	if err = o.server.Launch(context.Background()); err != nil {
		return nil, err
	}
	if o.way, err = redistest.NewProxy(o.server.Socket); err != nil {
		return nil, err
	}
	o.way.Delay(func() time.Duration { return away / 2 })
	store := fmt.Sprintf("store: {driver: redis, redis: {dsn: %q}}\n", "redis://"+o.way.Addr())
	o.Shedder, err = newPlimsoll(fmt.Sprintf(fourStages, room) + store)
	return o, err
}

func (o *onRedis) ServeStream(ctx context.Context, c Call, work Work) bool {
	s, ok := o.Shedder.(Streamer)
	return ok && s.ServeStream(ctx, c, work)
}

func (o *onRedis) Close() {
	o.Shedder.Close()
	o.end()
}

func (o *onRedis) end() {
	if o.way != nil {
		o.way.Close()
	}
	if o.server != nil {
		o.server.End()
	}
}
