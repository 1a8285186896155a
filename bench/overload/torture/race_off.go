//go:build !race

package torture

// crowdSize is how many come at once to one place.
const crowdSize = 100_000
