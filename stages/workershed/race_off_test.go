//go:build !race

package workershed

// crowd is how many goroutines a test may let wait at once.
const crowd = 100_000
