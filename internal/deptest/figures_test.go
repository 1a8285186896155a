package deptest

import (
	"strings"
	"testing"
)

// TestFigures prints how this tree reads: make figures. TestTree judges it.
func TestFigures(t *testing.T) {
	var text strings.Builder
	m := Measure(load(t, "../.."))
	m.Print(&text)
	t.Logf("\n%s", text.String())
	if len(m.Functions) == 0 || m.Exported == 0 {
		t.Error("nothing was measured")
	}
}

func TestQuantile(t *testing.T) {
	list := []Figure{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 40}}
	for q, want := range map[float64]int{0: 1, 0.5: 2, 1: 40} {
		if got := Quantile(list, q); got != want {
			t.Errorf("Quantile(%v) = %d, want %d", q, got, want)
		}
	}
	if got := Quantile(nil, 0.5); got != 0 {
		t.Errorf("Quantile of nothing = %d", got)
	}
}
