package deptest

import "testing"

// TestTree runs every rule on this module, where none may find anything.
func TestTree(t *testing.T) {
	tree := load(t, "../..")
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, fault := range rule(tree) {
				t.Error(fault)
			}
		})
	}
}
