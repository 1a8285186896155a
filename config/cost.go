package config

import (
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// Cost is how many tokens a request costs: a number, a number for each path,
// or a response header in which the handler says it. The zero value is 1 token.
type Cost struct {
	// Tokens of every request; 0 means 1.
	Tokens int64
	// Tokens by path pattern; other requests cost 1.
	Routes map[Pattern]int64
	// The response header in which the handler says what the request cost. 1
	// token is charged before, and the rest afterwards.
	Header HeaderName
}

// most is the highest cost of a request.
func (c *Cost) most() int64 {
	most := max(c.Tokens, 1)
	for _, tokens := range c.Routes {
		most = max(most, tokens)
	}
	return most
}

// maxCost bounds what one request may cost.
const maxCost = 1_000_000_000

// costForms is what a cost may look like, for a person.
const costForms = "a number from 1 to 1000000000, a mapping of paths to numbers, or {header: Name}"

// costHeader is the one key of a cost that is no path.
const costHeader = "header"

func (c *Cost) decode(d *decoder, n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.ScalarNode:
		c.Tokens = d.tokens(n, path, 1)
	case yaml.MappingNode:
		c.decodeMapping(d, n, path)
	default:
		d.fault(n, path, allowed("must be a number or a mapping, got "+kindOf(n), costForms))
	}
}

func (c *Cost) decodeMapping(d *decoder, n *yaml.Node, path string) {
	routes := map[Pattern]int64{}
	for key, value := range d.pairs(n, path) {
		at := join(path, key.Value)
		d.places[at] = place{value.Line, value.Column}
		if key.Value == costHeader {
			d.word(value, reflect.ValueOf(&c.Header).Elem(), at, scalars[reflect.TypeFor[HeaderName]()], nil)
			continue
		}
		if _, err := parsePattern(key.Value); err != nil {
			d.fault(key, at, allowed(err.Error(), costForms))
			continue
		}
		routes[Pattern(key.Value)] = d.tokens(value, at, 0)
	}
	switch {
	case c.Header != "" && len(routes) > 0:
		d.fault(n, path, allowed("is ambiguous: it holds a header and paths", costForms))
	case len(n.Content) == 0:
		d.fault(n, path, allowed("is empty", costForms))
	case len(routes) > 0:
		c.Routes = routes
	}
}

// tokens decodes a number of tokens.
func (d *decoder) tokens(n *yaml.Node, path string, least int64) (count int64) {
	if !d.supported(n, path) {
		return 0
	}
	if n.Kind != yaml.ScalarNode {
		d.fault(n, path, allowed("must be a number, got "+kindOf(n), costForms))
		return 0
	}
	if err := setInteger(reflect.ValueOf(&count).Elem(), n); err != nil {
		d.fault(n, path, allowed(err.Error(), costForms))
		return 0
	}
	if count < least || count > maxCost {
		d.fault(n, path, allowed(fmt.Sprintf("%d is out of range", count), fmt.Sprintf("%d to %d", least, maxCost)))
	}
	return count
}
