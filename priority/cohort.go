package priority

import "time"

// Cohorts is the number of cohorts that callers are divided into.
const Cohorts = 128

// Cohort is a share of the callers, 0 … Cohorts−1. A partial shed takes whole
// cohorts, so a caller sees all or nothing, and a user action made of several
// calls does not fail by dice.
type Cohort uint8

// CohortOf places a caller, given as a well-mixed hash, at a moment given in
// nanoseconds since the Unix epoch. Callers change cohort once an hour, each
// at another second of it, so that nobody is always first to be shed and the
// victims of a shed do not all change at the same moment.
func CohortOf(caller uint64, now int64) Cohort {
	offset := int64(caller % uint64(time.Hour))
	hour := uint64((now + offset) / int64(time.Hour))
	return Cohort(mix(caller^mix(hour)) % Cohorts)
}

// Shed reports whether a shed of the given fraction (0 … 1) takes this cohort.
// Raising the fraction only adds cohorts.
func (c Cohort) Shed(fraction float64) bool {
	return float64(c) < fraction*Cohorts
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood, 2014): each bit of
// the input changes each bit of the output with probability one half.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
