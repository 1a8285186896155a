package sim

import (
	"math"
	"sync"
	"time"
)

// chance is a stream of random figures that repeats: the nth figure of a stream
// is a function of its seed and n. Each who draws has a stream of its own, so
// that the order in which goroutines run changes nothing.
type chance struct{ state uint64 }

// newChance is the stream of one who draws.
func newChance(seed uint64, names ...uint64) chance {
	for _, n := range names {
		seed = mixed(seed ^ mixed(n))
	}
	return chance{seed}
}

// mixed is the finalizer of splitmix64 after one step.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func (c *chance) word() uint64 {
	c.state += 0x9e3779b97f4a7c15
	return mixed(c.state)
}

// unit draws from 0 … 1, 1 excluded.
func (c *chance) unit() float64 { return float64(c.word()>>11) / (1 << 53) }

// below draws from 0 … n−1.
func (c *chance) below(n int) int { return int(c.word() % uint64(n)) }

// hit is true for a share of the draws.
func (c *chance) hit(share float64) bool { return share > 0 && c.unit() < share }

// exponential draws with a mean.
func (c *chance) exponential(mean time.Duration) time.Duration {
	return time.Duration(-math.Log(1-c.unit()) * float64(mean))
}

// around draws a duration from 0.75 to 1.25 of one, and never the same twice.
func (c *chance) around(d time.Duration) time.Duration {
	return time.Duration((0.75+0.5*c.unit())*float64(d)) + time.Duration(c.below(1000))
}

// apart waits less than a microsecond, so that who was woken together with
// others goes on alone: what happens at one moment happens in no order.
func (c *chance) apart() { time.Sleep(time.Duration(1 + c.below(997))) }

// lockedChance is a stream that goroutines share whose order is certain.
type lockedChance struct {
	mu sync.Mutex
	chance
}

// Float64 draws from 0 … 1, 1 excluded.
func (c *lockedChance) Float64() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unit()
}
