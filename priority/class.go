package priority

import (
	"fmt"
	"strings"
)

// Class is how much a request matters. The zero value is ordinary traffic, and
// `<` is the order in which traffic is shed: Low first, Critical last.
type Class int8

// The classes, least important first.
const (
	Low      Class = iota - 1 // test mode, batch work, prefetch
	Normal                    // ordinary traffic; the zero value
	High                      // writes that a person waits for
	Critical                  // what the service exists for, moving money for example
)

// Count is the number of classes.
const Count = 4

// All lists the classes in the order in which they are shed.
var All = [Count]Class{Low, Normal, High, Critical}

var names = [Count]string{"low", "normal", "high", "critical"}

// Index maps a class to 0 (Low) … Count−1 (Critical). A value outside the
// classes is clamped to the nearest of them, so it can always index an array.
func (c Class) Index() int {
	return int(min(max(c, Low), Critical)) - int(Low)
}

// FromIndex is the inverse of Index, and clamps in the same way.
func FromIndex(i int) Class { return Class(min(max(i, 0), Count-1)) + Low }

// String returns low, normal, high or critical.
func (c Class) String() string { return names[c.Index()] }

// Parse reads a class by its name in any letter case.
func Parse(s string) (Class, error) {
	for i, name := range names {
		if strings.EqualFold(s, name) {
			return FromIndex(i), nil
		}
	}
	return Normal, fmt.Errorf("priority: unknown class %q, allowed: %s", s, strings.Join(names[:], ", "))
}

// MarshalText renders the name of the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote, in any letter case.
func (c *Class) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// Set is a set of classes. The zero value stands for all of them.
type Set uint8

// SetOf collects classes; none means all.
func SetOf(classes ...Class) (s Set) {
	for _, c := range classes {
		s |= 1 << c.Index()
	}
	return s
}

// Has reports whether a class is in the set.
func (s Set) Has(c Class) bool { return s == 0 || s>>c.Index()&1 != 0 }
