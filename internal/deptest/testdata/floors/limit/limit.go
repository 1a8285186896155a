package limit

import (
	_ "network" // begins like a banned path, and is none
	_ "sync/atomic"
	clock "time"
)

func wait() *clock.Timer { return clock.NewTimer(clock.Second) }
