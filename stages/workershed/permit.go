package workershed

import "github.com/plimsoll-go/plimsoll/pipeline"

// A permit says what was taken, for which class, and when, to 16ns. 0 is none.
const (
	kindBits  = 0b11
	classBits = 0b1100
	timeBits  = ^int64(0b1111)

	slotPermit   = 1 // a slot of the limit
	streamPermit = 2 // a place of the long-lived gauge
	exemptPermit = 3 // a place of the exempt reserve
)

func newPermit(kind, class int, taken int64) pipeline.Permit {
	return pipeline.Permit(uint64(taken&timeBits) | uint64(class)<<2 | uint64(kind))
}

func kindOf(p pipeline.Permit) int { return int(p & kindBits) }

func classOf(p pipeline.Permit) int { return int(p & classBits >> 2) }

func takenAt(p pipeline.Permit) int64 { return int64(p) & timeBits }
