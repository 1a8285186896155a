package pipeline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll-go/plimsoll/store"
)

// Callers holds something for some callers, each named by its name, or by id:
// and its key (store.Key.String) where the name is a credential that nobody
// should have to write down. The zero value holds nothing. To look does not
// allocate; Set and Of must not run at once.
type Callers[T any] struct {
	byName map[string]T
	byKey  map[store.Key]T
}

// Set holds a value for a caller, in place of an earlier one.
func (c *Callers[T]) Set(caller string, value T) error {
	if text, isKey := strings.CutPrefix(caller, "id:"); isKey {
		key, err := store.ParseKey(text)
		if err != nil {
			return fmt.Errorf("pipeline: caller %q: %w", caller, err)
		}
		if c.byKey == nil {
			c.byKey = map[store.Key]T{}
		}
		c.byKey[key] = value
		return nil
	}
	if caller == "" {
		return errors.New("pipeline: a caller needs a name")
	}
	if c.byName == nil {
		c.byName = map[string]T{}
	}
	c.byName[caller] = value
	return nil
}

// Of is what is held for a caller; what its key says goes above its name.
func (c *Callers[T]) Of(caller *Caller) (value T, ok bool) {
	if len(c.byKey) > 0 {
		if value, ok = c.byKey[caller.ID]; ok {
			return value, true
		}
	}
	if len(c.byName) > 0 {
		value, ok = c.byName[caller.Name]
	}
	return value, ok
}

// Any reports whether something that is held fits.
func (c *Callers[T]) Any(fits func(T) bool) bool {
	for _, v := range c.byName {
		if fits(v) {
			return true
		}
	}
	for _, v := range c.byKey {
		if fits(v) {
			return true
		}
	}
	return false
}
