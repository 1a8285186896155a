// Package fleetshed is the fleet usage load shedder: has the fleet room for
// this class, with a share kept for critical traffic?
//
// The fleet's capacity is room in flight. A reserve of it, a fifth unless
// configured, is for critical traffic at all times; what critical traffic uses
// comes off the rest, and what then remains is leased to the workers by
// demand. A request is decided from memory against this worker's lease, so it
// costs the same whether the fleet is one process or a hundred, and the reserve
// is free in the first millisecond of an overload. Critical traffic is never
// refused here.
//
// Below High, the classes have caps of the lease, nested on one counter: Low is
// admitted while less than nine tenths of the lease is in use, Normal while
// less than nineteen twentieths is. So whatever admits a class admits every more
// critical one, and no amount of less critical traffic takes the last places
// from a more critical class. The steps are small, because here a step costs
// the fleet room; the worker's own stage has the steep ones.
//
// Without a lease, because nothing heartbeats or the store is lost, the worker
// goes by its own capacity and keeps the reserve of that free. When that is
// unknown too, it admits.
//
// Do not use it to protect one caller from another, and do not put two in one
// plan on one State. Capacity must be room in flight, 1.25 to 2 times what
// saturates the fleet: at the exact number a reserve of a fifth would idle a
// fifth of it.
//
// A Stage is an immutable view on a State, which counts what is in flight. A
// changed configuration is another Stage on the same State. The zero State is
// ready, the zero Config a working one. All methods are safe for concurrent
// use. A look is two atomic reads; a take and a release are one atomic
// operation each and a counter. Nothing allocates.
package fleetshed
