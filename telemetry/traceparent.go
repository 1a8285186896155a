package telemetry

import "github.com/plimsoll-go/plimsoll/pipeline"

// parseTraceparent reads a header of W3C Trace Context, and returns nothing
// unless it is well formed and says that the trace is sampled. It does not
// allocate.
//
//	00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
func parseTraceparent(s string) (t pipeline.Trace) {
	const length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(s) < length || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return pipeline.Trace{}
	}
	var version, flags [1]byte
	if !unhex(version[:], s[:2]) || !unhex(t.ID[:], s[3:35]) || !unhex(t.Span[:], s[36:52]) || !unhex(flags[:], s[53:55]) {
		return pipeline.Trace{}
	}
	longer := len(s) > length // a later version may say more
	if version[0] == 0xff || longer && (version[0] == 0 || s[length] != '-') {
		return pipeline.Trace{}
	}
	if flags[0]&1 == 0 || t.ID == [16]byte{} || t.Span == [8]byte{} {
		return pipeline.Trace{}
	}
	return t
}

// unhex reads lower-case hexadecimal digits, two for each byte.
func unhex(to []byte, from string) bool {
	for i := range to {
		high, low := digit(from[2*i]), digit(from[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		to[i] = high<<4 | low
	}
	return true
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}
