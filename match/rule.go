package match

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// Header is what a request says of itself beside method, host and path.
// http.Header is one.
type Header interface {
	// Get returns the first value under a name, or "".
	Get(name string) string
}

// Subject is what a rule looks at. Path is the decoded path, not cleaned.
type Subject struct {
	Method string
	Host   string
	Path   string
	Header Header // nil when there is none
	Route  Route  // the table's answer for Host and Path, zero until resolved
}

// Rule says which requests are meant. Fields that are empty do not restrict;
// those that are set must all agree. The zero Rule means every request.
type Rule struct {
	Methods []string          // GET, POST, …; any of them, and HEAD where GET is
	Host    string            // without a port, in any letter case
	Path    string            // pattern in the syntax of Table, host included
	Header  map[string]string // name → exact value, prefix ending in *, or * for "present"
}

// Matcher is a compiled rule. It is immutable and safe for concurrent use.
type Matcher struct {
	table   *Table
	methods methodSet
	host    string // in lower case; "" is every host
	within  bitset // routes that the path pattern covers; nil covers all
	headers []headerRule
}

type headerRule struct {
	name, value string
	prefix      bool
}

// Compile checks a rule and prepares it against a table, to which its pattern
// must have been added. The error names every fault.
func (t *Table) Compile(r Rule) (*Matcher, error) {
	m := &Matcher{table: t, host: hostOnly(r.Host)}
	var errs []error
	var err error
	if m.methods, err = parseMethods(r.Methods); err != nil {
		errs = append(errs, err)
	}
	if r.Path != "" {
		id, ok := t.ids[r.Path]
		if !ok {
			errs = append(errs, fmt.Errorf("match: path %q is not in the table", r.Path))
		} else {
			m.within = t.covers[id]
		}
	}
	for name, value := range r.Header {
		if name == "" {
			errs = append(errs, errors.New("match: a header needs a name"))
		}
		prefix, isPrefix := strings.CutSuffix(value, "*")
		m.headers = append(m.headers, headerRule{name, prefix, isPrefix})
	}
	return m, errors.Join(errs...)
}

// Match reports whether the rule means this request.
func (m *Matcher) Match(s *Subject) bool {
	if m.methods != 0 && m.methods&methodBit(s.Method) == 0 {
		return false
	}
	if m.host != "" && m.host != hostOnly(s.Host) {
		return false
	}
	if m.within != nil && !m.within.has(m.table.Resolve(s)) {
		return false
	}
	for i := range m.headers {
		if !m.headers[i].match(s.Header) {
			return false
		}
	}
	return true
}

// CoversRoute reports whether the rule may mean requests of a route of its
// table, whatever their method and headers: what a plan needs to prepare, per
// route, the short list of rules that are worth asking.
func (m *Matcher) CoversRoute(id int) bool { return m.within == nil || m.within.has(id) }

// ByRouteAlone reports whether CoversRoute already is the whole answer.
func (m *Matcher) ByRouteAlone() bool {
	return m.methods == 0 && m.host == "" && len(m.headers) == 0
}

func (h *headerRule) match(header Header) bool {
	if header == nil {
		return false
	}
	value := header.Get(h.name)
	if h.prefix {
		return value != "" && strings.HasPrefix(value, h.value)
	}
	return value == h.value
}

// methodSet is a set of HTTP methods, one bit each; the last bit stands for
// all methods that are not named in RFC 9110 and RFC 5789.
type methodSet uint16

var methods = [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}

func methodBit(method string) methodSet {
	for i, m := range methods {
		if m == method {
			return 1 << i
		}
	}
	return 1 << len(methods)
}

func parseMethods(list []string) (set methodSet, err error) {
	for _, m := range list {
		bit := methodBit(strings.ToUpper(m))
		if bits.TrailingZeros16(uint16(bit)) == len(methods) {
			return 0, fmt.Errorf("match: unknown method %q, allowed: %s", m, strings.Join(methods[:], ", "))
		}
		set |= bit
	}
	if set&methodBit("GET") != 0 { // servers answer HEAD by the work of GET: it must not be a way around
		set |= methodBit("HEAD")
	}
	return set, nil
}

// Index lists, for each route of a table, which matchers may mean its
// requests, in order: a request then asks a few of many.
func (t *Table) Index(matchers []*Matcher) [][]int32 {
	index := make([][]int32, t.Len())
	for route := range index {
		for i, m := range matchers {
			if m.CoversRoute(route) {
				index[route] = append(index[route], int32(i))
			}
		}
	}
	return index
}
