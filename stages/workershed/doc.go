// Package workershed is the worker utilization load shedder: has this worker
// room for this class? It is the last line of defence, and needs no store.
//
// Two layers work on two time scales, because each alone fails. The fast layer
// answers every request. A class is admitted while fewer requests are in
// flight than its cap, a share of the limit: 1, 0.8, 0.65 and 0.5 for Critical,
// High, Normal and Low. The caps are nested on one counter, so any class may
// use room that nobody else uses, and the share of the critical class is free
// in the first millisecond of an overload, without anything being detected.
// (The cap means all that is in flight, not the class's own: a fifth is kept
// free for a burst of critical work also while critical work uses half.) What
// finds no room waits a moment in class order, which is what keeps ordinary
// bursts from being refused. The limit adapts to the delay of the Go scheduler
// and to time-outs, never above what is configured. An in-flight count is blind
// to handlers that only burn CPU, whose queue is in the scheduler; where no
// lower limit would help, strain drops cohorts within tenths of a second. The
// requests themselves look at that queue, every 20 ms, because ticks are late when
// the processors are.
//
// The slow layer is for trouble that lasts: a level rises while utilization
// stays high, and drops whole cohorts of callers, Low first, then Normal, then
// High, never Critical. It starts late and returns slowly on purpose, as load
// that was shed comes back when it is let in again.
//
// Do not use it where the work does not happen in this process, and do not put
// two in one plan on one State. The limit is room in flight, 1.25 to 2 times
// what saturates the worker: with the exact number, the lower caps would leave
// capacity idle, and with twice that Low alone may saturate it.
//
// A Stage is an immutable view on a State, which holds what is in flight, who
// waits, and what was learnt. A changed configuration is another Stage on the
// same State. Switched on while requests run, it counts those that come from
// then on. In shadow it cannot wait, so what it reports there is an estimate. All
// methods are safe for concurrent use. The zero Config is a working one.
//
// A take and a release that meet no queue are a few atomic operations, without
// a lock, an allocation or a reading of the clock.
package workershed
