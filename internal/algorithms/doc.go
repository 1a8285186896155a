// Package algorithms draws what each algorithm admits over time, and measures
// what the sliding window gets wrong. docs/algorithms.md shows the pictures,
// make bench prints the measurements.
//
// Everything runs on the embedded store and on package limit, in virtual time
// and with chance from fixed seeds: who runs it again gets the same, to the
// byte.
package algorithms

//go:generate go test -run ^TestGenerated -update .
