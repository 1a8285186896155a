// Package bench measures Plimsoll and its rivals at the same work in the same
// run: make bench. It is a module of its own, so that nobody who uses Plimsoll
// depends on the rivals.
//
// A benchmark's name is Work/how/contestant. The command in cmd/report runs
// them in rounds, so that all contestants of one work meet the same minute of
// the machine, and reports medians and ratios.
package bench
