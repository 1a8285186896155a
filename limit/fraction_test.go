package limit

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func drawWord(t *rapid.T, name string) uint64 {
	return rapid.OneOf(rapid.Uint64Range(0, 100), rapid.Uint64(), rapid.SampledFrom([]uint64{1 << 32, 1 << 63, math.MaxUint64})).Draw(t, name)
}

func TestMulDiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawWord(t, "a"), drawWord(t, "b"), max(drawWord(t, "c"), 1)
		ab := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		if whole, _ := mulDiv(a, b, 1); product(a, b) != whole {
			t.Fatalf("%d·%d = %d, want %d", a, b, product(a, b), whole)
		}
		want, rem := new(big.Int).DivMod(ab, new(big.Int).SetUint64(c), new(big.Int))
		got, exact := mulDiv(a, b, c)
		ceiled := ceilMulDiv(a, b, c)
		if !want.IsInt64() {
			if got != math.MaxInt64 || ceiled != math.MaxInt64 || exact {
				t.Fatalf("%d·%d/%d = %d, %d, %v, want saturated", a, b, c, got, ceiled, exact)
			}
			return
		}
		up := want.Uint64()
		if rem.Sign() > 0 && up < math.MaxInt64 {
			up++
		}
		if got != want.Uint64() || exact != (rem.Sign() == 0) || ceiled != up {
			t.Fatalf("%d·%d/%d = %d, %d, %v, want %v and %v more", a, b, c, got, ceiled, exact, want, rem)
		}
	})
}

// No fraction with a denominator that fits lies between the result and the
// rate, and a rate that fits is returned as it is.
func TestNotFaster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Uint64Range(1, 1<<40).Draw(t, "count")
		period := rapid.Uint64Range(1, 1<<40).Draw(t, "period")
		most := rapid.Uint64Range(1, 200).Draw(t, "most")
		var best uint64
		var of uint64 = 1
		for den := uint64(1); den <= most; den++ {
			num := count * den / period // below 2^48
			if num*of > best*den {
				best, of = num, den
			}
		}
		unit, interval := notFaster(count, period, most)
		gap := new(big.Rat).Sub(ratio(count, period), ratio(best, of))
		slower := new(big.Rat).Quo(gap, ratio(count, period))
		switch billionth := big.NewRat(1, 1e9); {
		case unit == 0 && slower.Cmp(billionth) < 0 && slower.Sign() == 0:
			t.Fatalf("%d/%d in %d: given up, want %d/%d", count, period, most, best, of)
		case unit != 0 && (unit*of != best*interval || interval > most):
			t.Fatalf("%d/%d in %d = %d/%d, want %d/%d", count, period, most, unit, interval, best, of)
		case unit != 0 && slower.Cmp(billionth) >= 0:
			t.Fatalf("%d/%d in %d = %d/%d, slower by %s", count, period, most, unit, interval, slower.FloatString(12))
		}
	})
}

func ratio(a, b uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
}
