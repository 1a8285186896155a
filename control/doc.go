// Package control is what people change while a service runs: overrides that
// shed, block, exempt, rescale, pin or bypass, and that end by themselves.
//
// All overrides of a fleet are one Document with a version. A Change makes the
// next one, and a Record of the audit trail with it, in one atomic step of a
// Storage: in memory, in a file, or in the fleet's store. Records are chained
// by hashes, so that Verify finds the first that was altered, removed or moved.
//
// Nothing of this is on the path of a request. Each worker has a Control; its
// Run learns of changes by a push, which is a hint, and by the revision that
// the heartbeat brings, which is the truth. What holds for this worker now is
// compiled into Effects, from which whoever owns the pipeline makes a plan.
//
// An override ends at a moment of its storage's clock. A worker learns with
// each read how long that still is, and counts by its own monotonic clock, so
// that clocks which differ do not matter, and a worker that is cut off ends it
// by itself: early by the round trip of the last read at most, and off by what
// its clock drifts in the time since.
//
// The zero Control is not usable, see New. All methods may be called
// concurrently. A change costs two calls of the storage.
package control
