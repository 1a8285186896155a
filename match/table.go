package match

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Table resolves a host and a path to a route: the most specific of the
// patterns that it was made of. The set of routes is closed, so a route may
// label a metric. A table is immutable and safe for concurrent use.
//
// A pattern is [host]/segments, in the syntax of net/http.ServeMux without the
// method: {name} stands for one segment, a last {name...} or a trailing slash
// for any rest. Where one pattern covers another, the narrower one is the
// route, and rules on the wider one mean it too. Patterns that overlap while
// neither covers the other are refused, as ServeMux does, because no reader
// could say which one counts.
type Table struct {
	names  []string       // by route id; names[0] is Other
	ids    map[string]int // pattern → route id
	covers []bitset       // by route id: the routes that the pattern covers
	root   node
	hosts  map[string]*node
}

// Other names the route of requests that no pattern covers.
const Other = "other"

// Route is a table's answer. The zero value is unresolved.
type Route struct {
	table *Table
	id    int
}

type node struct {
	literal map[string]*node
	single  *node // {name}
	exact   int   // route id when the path ends here, or 0
	rest    int   // route id for any rest below here, or 0
}

// NewTable compiles patterns; a pattern that occurs twice counts once. The
// error names every fault.
func NewTable(patterns ...string) (*Table, error) {
	t := &Table{names: []string{Other}, ids: map[string]int{}, hosts: map[string]*node{}}
	parsed := []pattern{{}}
	var errs []error
	for _, text := range patterns {
		if _, twice := t.ids[text]; twice {
			continue
		}
		p, err := parsePattern(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		id := len(t.names)
		t.ids[text] = id
		t.names = append(t.names, text)
		parsed = append(parsed, p)
		if other := t.insert(p, id); other != 0 {
			errs = append(errs, fmt.Errorf("match: %q and %q mean the same paths", text, t.names[other]))
		}
	}
	t.covers = make([]bitset, len(parsed))
	for i := 1; i < len(parsed); i++ {
		t.covers[i] = newBitset(len(parsed))
		for j := 1; j < len(parsed); j++ {
			switch relate(parsed[i], parsed[j]) {
			case same, wider:
				t.covers[i].set(j)
			case crossing:
				if i < j {
					errs = append(errs, fmt.Errorf("match: %q and %q overlap, and neither covers the other", t.names[i], t.names[j]))
				}
			case narrower, apart:
			}
		}
	}
	return t, errors.Join(errs...)
}

// Len is the number of routes, Other included; route ids are below it.
func (t *Table) Len() int { return len(t.names) }

// Name is the pattern of a route.
func (t *Table) Name(id int) string { return t.names[id] }

// Resolve returns the id of the route of a request and remembers it in the
// subject, so that a request is looked up once per table.
func (t *Table) Resolve(s *Subject) int {
	if len(t.names) == 1 { // there is nothing to look up, or to remember
		return 0
	}
	if s.Route.table != t {
		s.Route = Route{t, t.lookup(s.Host, s.Path)}
	}
	return s.Route.id
}

// RouteName is the name of the resolved route of a request.
func (s *Subject) RouteName() string {
	if s.Route.table == nil {
		return Other
	}
	return s.Route.table.names[s.Route.id]
}

func (t *Table) lookup(host, urlPath string) int {
	if len(t.names) == 1 {
		return 0
	}
	if len(t.hosts) > 0 {
		host = hostOnly(host)
	}
	urlPath = Clean(urlPath)
	id := t.find(host, urlPath[1:])
	// A slash at the end does not lead away from a pattern, or a limit on
	// /login would not hold for /login/; unless a pattern apart from it means
	// that path as it stands.
	if bare, slashed := strings.CutSuffix(urlPath, "/"); slashed && bare != "" {
		if narrower := t.find(host, bare[1:]); narrower != 0 && (id == 0 || t.covers[id].has(narrower)) {
			return narrower
		}
	}
	return id
}

func (t *Table) find(host, path string) int {
	if n := t.hosts[host]; n != nil {
		if id := n.find(path); id != 0 {
			return id
		}
	}
	return t.root.find(path)
}

// find walks the segments that are left; the narrower branch is tried first.
func (n *node) find(left string) int {
	segment, after, more := strings.Cut(left, "/")
	if segment == "" {
		return n.rest
	}
	if child := n.literal[segment]; child != nil {
		if id := child.step(after, more); id != 0 {
			return id
		}
	}
	if n.single != nil {
		if id := n.single.step(after, more); id != 0 {
			return id
		}
	}
	return n.rest
}

// step goes on below a segment that fitted.
func (n *node) step(after string, more bool) int {
	if more {
		return n.find(after)
	}
	return n.exact
}

// Clean is the path that rules are matched on: rooted, with repeated slashes
// and dot segments resolved, the trailing slash kept. It returns its argument
// when that is clean already, and then does not allocate.
func Clean(p string) string {
	if p == "" || p[0] != '/' {
		p = "/" + p
	}
	if !strings.Contains(p, "//") && !strings.Contains(p, "/.") {
		return p
	}
	cleaned := path.Clean(p)
	if cleaned != "/" && strings.HasSuffix(p, "/") {
		cleaned += "/"
	}
	return cleaned
}

// hostOnly strips what clients are free to choose: a port, the dot of the root
// and letter case.
func hostOnly(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// insert adds a pattern to the tree and returns the route that stood there.
func (t *Table) insert(p pattern, id int) (other int) {
	n := &t.root
	if p.host != "" {
		if t.hosts[p.host] == nil {
			t.hosts[p.host] = &node{}
		}
		n = t.hosts[p.host]
	}
	for _, s := range p.segments {
		n = n.child(s)
	}
	slot := &n.exact
	if p.rest {
		slot = &n.rest
	}
	other, *slot = *slot, id
	return other
}

func (n *node) child(segment string) *node {
	if segment == "{}" {
		if n.single == nil {
			n.single = &node{}
		}
		return n.single
	}
	if n.literal == nil {
		n.literal = map[string]*node{}
	}
	if n.literal[segment] == nil {
		n.literal[segment] = &node{}
	}
	return n.literal[segment]
}

type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

// Patterns lists the patterns of the table, sorted.
func (t *Table) Patterns() []string {
	return slices.Sorted(slices.Values(t.names[1:]))
}
