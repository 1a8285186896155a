package control

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/priority"
)

// form is what an override of a kind consists of.
type form struct {
	sets    []Setting // none: the kind has one meaning
	needs   []string  // parts of the scope that must be there
	allows  []string  // parts that may be
	percent bool
}

var forms = map[Kind]form{
	StageMode: {sets: []Setting{Off, Shadow, Enforce}, needs: []string{"stage"}},
	Shed:      {needs: []string{"below"}, allows: []string{"route"}, percent: true},
	Caller:    {sets: []Setting{Block, Exempt, Scale}, needs: []string{"caller"}},
	Limit:     {sets: []Setting{Off, Shadow, Enforce, Scale, Rate, Max}, needs: []string{"stage", "limit"}},
	Reserve:   {sets: []Setting{Share, Capacity}},
	Pin:       {sets: []Setting{Level}, allows: []string{"stage"}},
	Bypass:    {},
}

// span is the values that a setting allows.
type span struct{ from, to float64 }

var spans = map[Setting]span{
	Scale: {0.001, 1000}, Max: {0, 1_000_000}, Share: {0, 0.9}, Capacity: {1, 100_000_000}, Level: {0, priority.Count - 1},
}

// checker collects faults.
type checker struct {
	faults []Fault
	prefix string
}

func (c *checker) add(path, format string, args ...any) {
	c.faults = append(c.faults, Fault{c.prefix + path, fmt.Sprintf(format, args...)})
}

func (c *checker) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return &InvalidError{c.faults}
}

// Validate checks what a person says of an override, all of it. The error is
// an *InvalidError. Whether its stage, limit or route exists is for the worker
// to say: see State.
func (o *Override) Validate() error {
	c := &checker{}
	c.override(o)
	return c.err()
}

func (c *checker) override(o *Override) {
	f, known := forms[o.What]
	if !known {
		c.add("what", "must be one of %s, got %q", words(Kinds), o.What)
		return
	}
	c.set(o, &f)
	c.scope(o, &f)
	c.value(o)
	switch {
	case f.percent && (o.Percent < 0 || o.Percent > 100):
		c.add("percent", "must be 1 … 100, got %d", o.Percent)
	case !f.percent && o.Percent != 0:
		c.add("percent", "is for a shed alone, got %d", o.Percent)
	}
	c.text("reason", o.Reason, 3, 500)
	c.text("incident", o.Incident, 0, 100)
}

func (c *checker) set(o *Override, f *form) {
	switch {
	case len(f.sets) == 0 && o.Set != "":
		c.add("set", "must be empty for a %s, got %q", o.What, o.Set)
	case len(f.sets) > 0 && !slices.Contains(f.sets, o.Set):
		c.add("set", "must be one of %s for a %s, got %q", words(f.sets), o.What, o.Set)
	}
}

func (c *checker) scope(o *Override, f *form) {
	parts := []struct{ name, value string }{
		{"stage", o.Scope.Stage}, {"limit", o.Scope.Limit}, {"route", o.Scope.Route},
		{"below", o.Scope.Below}, {"caller", o.Scope.Caller}, {"worker", o.Scope.Worker},
	}
	for _, p := range parts {
		needed := slices.Contains(f.needs, p.name)
		switch {
		case needed && p.value == "":
			c.add("scope."+p.name, "is needed for a %s", o.What)
		case p.value != "" && !needed && p.name != "worker" && !slices.Contains(f.allows, p.name):
			c.add("scope."+p.name, "means nothing for a %s, got %q", o.What, p.value)
		default:
			c.text("scope."+p.name, p.value, 0, 500)
		}
	}
	if o.What == Shed && o.Scope.Below != "" {
		c.below(o.Scope.Below)
	}
}

func (c *checker) below(word string) {
	if class, err := priority.Parse(word); err != nil || class == priority.Low || class.String() != word {
		c.add("scope.below", "must be one of normal, high, critical, got %q: critical itself is never shed", word)
	}
}

func (c *checker) value(o *Override) {
	s, takes := spans[o.Set]
	switch {
	case takes && !(o.Value >= s.from && o.Value <= s.to):
		c.add("value", "must be %v … %v for %s, got %v", s.from, s.to, o.Set, o.Value)
	case !takes && o.Value != 0:
		c.add("value", "means nothing here, got %v", o.Value)
	case o.Set == Max && o.Value != math.Trunc(o.Value):
		c.add("value", "must be a whole number, got %v", o.Value)
	}
	if o.Set != Rate {
		if o.Rate != "" {
			c.add("rate", "means nothing here, got %q", o.Rate)
		}
		return
	}
	if _, err := limit.ParseRate(o.Rate); err != nil {
		c.add("rate", "%s", strings.TrimPrefix(err.Error(), "limit: "))
	}
}

// text checks what a person wrote: it is shown in logs and terminals.
func (c *checker) text(path, value string, least, most int) {
	n := len([]rune(value))
	switch {
	case n < least || n > most:
		c.add(path, "must have %d … %d characters, got %d", least, most, n)
	case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		c.add(path, "must hold printable characters alone, got %q", value)
	}
}

func words[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, w := range list {
		s[i] = string(w)
	}
	return strings.Join(s, ", ")
}
