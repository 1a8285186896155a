package match

import (
	"fmt"
	"strings"
)

// pattern is a parsed pattern.
type pattern struct {
	host     string
	segments []string // "{}" stands for one segment of any name
	rest     bool     // any path below the segments
}

func parsePattern(text string) (pattern, error) {
	host, tail, ok := strings.Cut(text, "/")
	if !ok {
		return pattern{}, fmt.Errorf("match: pattern %q must start with / or a host and /", text)
	}
	if strings.ContainsAny(host, "{} \t") {
		return pattern{}, fmt.Errorf("match: pattern %q: a host holds neither wildcards, methods nor spaces", text)
	}
	p := pattern{host: hostOnly(host)}
	segments := strings.Split(tail, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == "" && last:
			p.rest = true
		case s == "" || s == "." || s == "..":
			return pattern{}, fmt.Errorf("match: pattern %q is not a clean path", text)
		case strings.HasPrefix(s, "{") && strings.HasSuffix(s, "...}") && last:
			p.rest = true
		case s == "{$}" && last:
			return pattern{}, fmt.Errorf("match: pattern %q: {$} is not supported, leave the trailing slash away", text)
		case strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && len(s) > 2 && !strings.Contains(s, "."):
			p.segments = append(p.segments, "{}")
		case strings.ContainsAny(s, "{}*"):
			return pattern{}, fmt.Errorf("match: pattern %q: segment %q is neither a name nor {name}; {name...} may stand last only", text, s)
		default:
			p.segments = append(p.segments, s)
		}
	}
	return p, nil
}

// relation is how the paths of one pattern lie to those of another.
type relation uint8

const (
	apart    relation = iota // no path in common
	same                     // the same paths
	wider                    // all of the other's and more
	narrower                 // some of the other's
	crossing                 // some in common, some of its own on both sides
)

func relate(a, b pattern) relation {
	r := relateHosts(a.host, b.host)
	n := min(len(a.segments), len(b.segments))
	for i := range n {
		r = r.and(relateSegments(a.segments[i], b.segments[i]))
	}
	switch {
	case len(a.segments) == len(b.segments):
		return r.and(relateEnds(a.rest, b.rest))
	case len(a.segments) < len(b.segments):
		if !a.rest {
			return apart
		}
		return r.and(wider)
	default:
		if !b.rest {
			return apart
		}
		return r.and(narrower)
	}
}

func relateHosts(a, b string) relation {
	switch {
	case a == b:
		return same
	case a == "":
		return wider
	case b == "":
		return narrower
	}
	return apart
}

func relateSegments(a, b string) relation {
	switch {
	case a == b:
		return same
	case a == "{}":
		return wider
	case b == "{}":
		return narrower
	}
	return apart
}

// relateEnds compares patterns of equal segments: /a and /a/ share no path,
// because a rest begins after a further slash.
func relateEnds(a, b bool) relation {
	if a == b {
		return same
	}
	return apart
}

func (r relation) and(s relation) relation {
	switch {
	case r == apart || s == apart:
		return apart
	case r == same:
		return s
	case s == same || r == s:
		return r
	}
	return crossing
}
