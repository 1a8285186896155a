//go:build race

package torture

// crowdSize is how many come at once to one place: the race detector bears no
// more than 8,000 goroutines.
const crowdSize = 5_000
