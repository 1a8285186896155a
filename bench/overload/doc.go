// Package overload offers services more than they can do, behind Plimsoll and
// behind its rivals, and counts what useful work is left.
//
// One driver runs every contestant on the same arrivals, which are planned from
// a seed and sent at their planned moments whatever became of those before. Each
// contestant runs in a process of its own, in an order drawn anew for each
// round, once as it comes and once with the best of a few other settings, found
// by trying them. A service that waits shares that process with its driver; one
// that computes has another, with its contestant, on the same cores.
package overload
