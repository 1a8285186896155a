package priority

// Scheme says under which names classes travel between services. The zero
// value is Plimsoll's own names.
type Scheme uint8

// The schemes.
const (
	Plimsoll Scheme = iota // low, normal, high, critical
	Google                 // SHEDDABLE, SHEDDABLE_PLUS, CRITICAL, CRITICAL_PLUS
)

var googleNames = [Count]string{"SHEDDABLE", "SHEDDABLE_PLUS", "CRITICAL", "CRITICAL_PLUS"}

// Name is the name under which a class travels in this scheme.
func (s Scheme) Name(c Class) string {
	if s == Google {
		return googleNames[c.Index()]
	}
	return c.String()
}

// Class reads a name of this scheme. The two schemes share the word critical
// with different meanings, so a name is read in one scheme only.
func (s Scheme) Class(name string) (Class, bool) {
	if s == Google {
		for i, known := range googleNames {
			if name == known {
				return FromIndex(i), true
			}
		}
		return Normal, false
	}
	c, err := Parse(name)
	return c, err == nil
}
