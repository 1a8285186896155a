// Package faults is the fault tour: it starts real Redis servers, drives an
// open load through a real pipeline on a guarded store, breaks the store in mid
// run, heals it, and then counts what callers saw, what was charged, what is
// held still, and how long all that took.
//
// Its rows are those of the table in docs/faults.md. Its tests run every row,
// and hold it to what no busy machine changes: states, exact counts and bounds.
// The command beside it measures the rest on a quiet machine, and writes the
// table.
package faults
