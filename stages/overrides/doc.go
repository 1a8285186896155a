// Package overrides is what an operator told the service to refuse for the
// time being: does an operator shed this class here, or block this caller?
//
// It is the first entry of a plan while there is something to refuse, and is
// made anew with each change: hundreds of sheds become one number for each
// route and class, so that a request that none of them concerns costs one
// indexed look-up, and, while callers are named, one more in a table of them.
//
// A shed refuses every class below one, and of each the callers in the first
// cohorts, so that a caller sees all of the service or none of it. Critical
// traffic cannot be shed, but blocked with its caller. A caller that is exempt
// is not shed; the limits and shedders behind this stage know nothing of that.
//
// Do not use it for what should last: that is the configuration's. The zero
// Config refuses nothing. A Stage is immutable, has no state, and is safe for
// concurrent use. Nothing allocates.
package overrides
