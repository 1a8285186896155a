package telemetry

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// classics is the number of bounds that a classic histogram shows: seven decades
// in steps of one, two and five, and the end of the last.
const classics = 7*3 + 1

// schema is the resolution of native histograms: bounds are powers of the
// 2^schema-th root of two, 19 % apart.
const schema = 2

// natives is the number of bounds of native histograms over seven decades.
const natives = 94

// bounds is the number of all bounds: three of the classic ones, a half, one
// and two seconds, are native as well.
const bounds = classics + natives - 3

// ladder is the bounds of a histogram in nanoseconds, those of both kinds in one
// row: a duration is counted once, and each kind reads its own sums.
type ladder struct {
	bounds  [bounds]int64
	native  [bounds]int32     // the index of a native bucket that ends here, or none
	classic [bounds]bool      // a classic bucket ends here
	bucket  [bounds + 1]uint8 // which classic bucket a slot is in
	zero    float64           // in seconds: what is shorter is in the zero bucket
	first   [65 * steps]uint8
}

// none is no index of a native bucket: below all.
const none = math.MinInt32

// steps is how many parts of a power of two have a first slot of their own, so
// that the walk to a slot is short.
const steps = 4

var (
	decisionLadder = newLadder(time.Microsecond)
	requestLadder  = newLadder(100 * time.Microsecond)
)

func newLadder(lowest time.Duration) (l ladder) {
	kinds := map[int64]int32{} // classic ones, and then native ones, by bound
	own := map[int64]bool{}
	decade := int64(lowest)
	for i := range classics {
		bound := decade * [...]int64{1, 2, 5}[i%3]
		kinds[bound], own[bound] = none, true
		if i%3 == 2 {
			decade *= 10
		}
	}
	index := int32(math.Floor(math.Log2(lowest.Seconds()) * (1 << schema)))
	l.zero = root(index)
	for i := range int32(natives) {
		kinds[int64(root(index+i)*1e9)] = index + i
	}
	i := 0
	for bound := range kinds {
		l.bounds[i] = bound
		i++
	}
	slices.Sort(l.bounds[:])
	for i, bound := range l.bounds {
		l.native[i], l.classic[i] = kinds[bound], own[bound]
		l.bucket[i+1] = l.bucket[i]
		if own[bound] {
			l.bucket[i+1]++
		}
	}
	l.index()
	return l
}

// root is where the native bucket of an index ends, in seconds.
func root(index int32) float64 { return math.Exp2(float64(index) / (1 << schema)) }

// index finds the first slot for each part of each power of two.
func (l *ladder) index() {
	for part := range l.first {
		least := uint64(part%steps+steps) << 61 >> (64 - part/steps) // the lowest of its length and its next two bits
		l.first[part] = uint8(len(l.bounds))
		for i, bound := range l.bounds {
			if uint64(bound) >= least {
				l.first[part] = uint8(i)
				break
			}
		}
	}
}

// slot is where a duration is counted, which is not below 0: at the first bound
// that it does not exceed.
func (l *ladder) slot(ns int64) int {
	length := bits.Len64(uint64(ns))
	part := uint64(ns) << (64 - length) >> 61 & (steps - 1)
	i := int(l.first[length*steps+int(part)])
	for i < bounds && ns > l.bounds[i] {
		i++
	}
	return i
}

// seconds is the classic bounds as exporters want them.
func (l *ladder) seconds() []float64 {
	list := make([]float64, 0, classics)
	for i, ns := range l.bounds {
		if l.classic[i] {
			list = append(list, float64(ns)/1e9)
		}
	}
	return list
}
