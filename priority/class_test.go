package priority_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/priority"
)

func TestClassesAreInTheOrderOfShedding(t *testing.T) {
	if !slices.IsSorted(priority.All[:]) || len(priority.All) != priority.Count {
		t.Errorf("%v", priority.All)
	}
	var zero priority.Class
	if zero != priority.Normal {
		t.Errorf("the zero value is %v", zero)
	}
}

func TestIndexes(t *testing.T) {
	for i, c := range priority.All {
		if c.Index() != i || priority.FromIndex(i) != c {
			t.Errorf("%v: index %d, class of it %v", c, c.Index(), priority.FromIndex(i))
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := priority.Class(rapid.Int8().Draw(rt, "class"))
		if i := c.Index(); i < 0 || i >= priority.Count {
			rt.Fatalf("index %d", i)
		}
		_ = c.String()
		if got := priority.FromIndex(rapid.Int().Draw(rt, "index")); got < priority.Low || got > priority.Critical {
			rt.Fatalf("class %d", got)
		}
	})
}

func TestClassesReadBack(t *testing.T) {
	for _, c := range priority.All {
		for _, text := range []string{c.String(), strings.ToUpper(c.String())} {
			if got, err := priority.Parse(text); err != nil || got != c {
				t.Errorf("%s: %v, %v", text, got, err)
			}
		}
		text, err := json.Marshal(c)
		var got priority.Class
		if err != nil || json.Unmarshal(text, &got) != nil || got != c {
			t.Errorf("%v is %s, and %v again", c, text, got)
		}
	}
	var kept = priority.High
	for _, text := range []string{"", "urgent", "critical ", "CRITICAL_PLUS", "1"} {
		if _, err := priority.Parse(text); err == nil || !strings.Contains(err.Error(), "low, normal, high, critical") {
			t.Errorf("%q: %v", text, err)
		}
		if err := kept.UnmarshalText([]byte(text)); err == nil || kept != priority.High {
			t.Errorf("%q: %v, %v", text, err, kept)
		}
	}
}

func TestSets(t *testing.T) {
	some := priority.SetOf(priority.Low, priority.Critical)
	for _, c := range priority.All {
		if some.Has(c) != (c == priority.Low || c == priority.Critical) || !priority.SetOf().Has(c) {
			t.Errorf("%v", c)
		}
	}
}

func TestSchemes(t *testing.T) {
	for _, s := range []priority.Scheme{priority.Plimsoll, priority.Google} {
		for _, c := range priority.All {
			if got, ok := s.Class(s.Name(c)); !ok || got != c {
				t.Errorf("%v: %v reads back as %v, %t", s, c, got, ok)
			}
		}
		for _, text := range []string{"", "urgent", "0", "critical, low"} {
			if c, ok := s.Class(text); ok || c != priority.Normal {
				t.Errorf("%v: %q is %v, %t", s, text, c, ok)
			}
		}
	}
	// The word that both have is no bridge from one to the other.
	if c, ok := priority.Google.Class("CRITICAL"); !ok || c != priority.High {
		t.Errorf("Google's CRITICAL is %v", c)
	}
	if c, ok := priority.Google.Class("critical"); ok {
		t.Errorf("Google has no critical: %v", c)
	}
	if c, ok := priority.Plimsoll.Class("CRITICAL_PLUS"); ok {
		t.Errorf("Plimsoll has no CRITICAL_PLUS: %v", c)
	}
}
