//go:build race

package workershed

// crowd is how many goroutines a test may let wait at once: the race detector
// gives up at 8,128.
const crowd = 8_000
