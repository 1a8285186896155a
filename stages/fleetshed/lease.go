package fleetshed

import "github.com/plimsoll-go/plimsoll/priority"

// most bounds what may be in flight, far above any worker: the counters are
// fields of one word.
const most = 1 << 20

// ownRoom is the non-critical room of a worker without a lease: what its own
// capacity leaves beside the reserve. A capacity of 0 is not known.
func ownRoom(capacity, declared, reserve float64) (room float64, known bool) {
	if capacity == 0 || declared > 0 && declared < capacity {
		capacity = declared
	}
	return (1 - reserve) * capacity, capacity > 0
}

// capOf is how many non-critical requests may be in flight, in all, for one
// more of a class with a share of the room: whole requests, so that the fleet's
// sum stays within its budget. The exception is that some room, however little,
// is room for one.
func capOf(room, share float64) int64 {
	room *= share
	if !(room > 0) {
		return 0
	}
	const rounding = 1e-6 // 0.8 times 20 is 16 requests
	return max(1, int64(min(room, most)+rounding))
}

// demand is how many requests would be in flight if none had been refused: those
// that were refused would have stayed as long as the others. Times in any one
// unit.
func demand(inFlight, refused, stay, elapsed float64) float64 {
	if refused == 0 || elapsed <= 0 {
		return inFlight
	}
	return inFlight + refused*stay/elapsed
}

// stay is the mean time in flight, by Little's law; the last known one when
// nothing was admitted, or when nobody who looked met what was.
func stay(inFlight, admitted, elapsed, last float64) float64 {
	if admitted == 0 || inFlight == 0 || elapsed <= 0 {
		return last
	}
	return inFlight * elapsed / admitted
}

// counts are the non-critical requests in flight, a field for each class.
type counts uint64

const (
	fieldBits = 21
	fieldMask = 1<<fieldBits - 1
)

// one is a request of a class, given by its index, which must be below
// Critical's.
func one(class int) counts { return 1 << (fieldBits * class) }

func (c counts) of(class int) int64 { return int64(c >> (fieldBits * class) & fieldMask) }

func (c counts) total() (n int64) {
	for class := range priority.Critical.Index() {
		n += c.of(class)
	}
	return n
}
