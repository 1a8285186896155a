package limit

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Units are never faster than the rate, slower by less than a billionth, and
// exact where the exact ones fit.
func TestUnits(t *testing.T) {
	big64 := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	rapid.Check(t, func(t *rapid.T) {
		r := Per(rapid.Int64Range(1, 1e12).Draw(t, "count"), time.Duration(rapid.Int64Range(1, 1e16).Draw(t, "period")))
		burst := rapid.Int64Range(1, 1e9).Draw(t, "burst")
		const most, tick = 1 << 52, time.Microsecond
		unit, interval, ok := Units(r, tick, burst, most)
		count := big.NewRat(r.Count*int64(tick), int64(r.Period))
		if fits := new(big.Int).Mul(count.Denom(), big.NewInt(burst)); fits.Cmp(big64(most)) <= 0 {
			if !ok || count.Num().Cmp(big64(unit)) != 0 || count.Denom().Cmp(big64(interval)) != 0 {
				t.Fatalf("%s: %d/%d, %v, want %s", r, unit, interval, ok, count)
			}
			return
		}
		if !ok {
			return
		}
		got := new(big.Rat).SetFrac(big64(unit), big64(interval))
		slower := new(big.Rat).Sub(big.NewRat(1, 1), got.Quo(got, count))
		if slower.Sign() < 0 || slower.Cmp(big.NewRat(1, 1e9)) >= 0 || interval*uint64(burst) > most {
			t.Fatalf("%s, burst %d: %d/%d is slower by %s", r, burst, unit, interval, slower.FloatString(12))
		}
	})
	if _, _, ok := Units(Per(1<<62, time.Hour), time.Second, 1, 1<<52); ok {
		t.Error("a rate beyond a word has units")
	}
}
