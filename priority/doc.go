// Package priority says how much a request matters: the four classes, the
// cohorts that a partial shed takes whole, and the rules that classify.
//
// A class that a client claims may lower its request, and may raise it only up
// to the ceiling of its caller: see Rules.
package priority
