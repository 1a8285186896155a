package pipeline

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/store"
)

func TestCallers(t *testing.T) {
	var c Callers[int]
	acme := Caller{Name: "acme", ID: store.KeyOf("acme")}
	if _, ok := c.Of(&acme); ok {
		t.Error("nothing is held")
	}
	for name, v := range map[string]int{"acme": 1, "id:" + store.KeyOf("secret").String(): 2} {
		if err := c.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if v, ok := c.Of(&acme); !ok || v != 1 {
		t.Errorf("acme: %d, %t", v, ok)
	}
	if v, ok := c.Of(&Caller{Name: "acme", ID: store.KeyOf("secret")}); !ok || v != 2 {
		t.Errorf("by key: %d, %t", v, ok)
	}
	if _, ok := c.Of(&Caller{Name: "other", ID: store.KeyOf("other")}); ok {
		t.Error("somebody else")
	}
	if c.Any(func(v int) bool { return v == 3 }) || !c.Any(func(v int) bool { return v == 2 }) {
		t.Error("Any")
	}
	for _, bad := range []string{"", "id:", "id:short"} {
		if c.Set(bad, 1) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
