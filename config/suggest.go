package config

import (
	"maps"
	"slices"
	"strings"
)

// suggest returns the known word that a mistaken one most likely means, or "".
func suggest(word string, known []string) string {
	best, least := "", 0
	for _, k := range known {
		d := distance(fold(word), fold(k))
		if d > min(nearMiss(word), nearMiss(k)) && !longerForm(fold(word), fold(k)) {
			continue
		}
		if best == "" || d < least {
			best, least = k, d
		}
	}
	return best
}

// didYouMean is a suggestion as the end of a sentence, or "".
func didYouMean(word string, known []string) string {
	if s := suggest(word, known); s != "" {
		return ", did you mean " + s + "?"
	}
	return ""
}

// nearMiss is how many slips of the keyboard a word of some length may hold
// and still be recognized: more would suggest words that were not meant.
func nearMiss(word string) int { return min(2, (len(word)-1)/2) }

// longerForm reports whether one of two words begins with the other: warning
// for warn, fleet for fleetshed.
func longerForm(a, b string) bool {
	return min(len(a), len(b)) > 2 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

var joints = strings.NewReplacer("_", "", "-", "", " ", "")

// fold makes words alike that differ in how their parts are joined.
func fold(word string) string { return strings.ToLower(joints.Replace(word)) }

// distance counts the letters to insert, drop, change, or swap with their
// neighbour (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return max(len(x), len(y)) // no word of ours is so long
	}
	before, row := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			next[j+1] = min(next[j]+1, row[j+1]+1, row[j]+differ(x[i], y[j]))
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}

func differ(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}

// list renders words for a person, in the order given.
func list(words []string) string { return strings.Join(words, ", ") }

// sortedKeys is the keys of a map in an order that does not change.
func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
