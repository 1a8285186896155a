// Package deptest holds the rules of this tree that a compiler does not: which
// package may import which, what the packages of one kind have in common, that
// exported names are documented, that documents lead somewhere, and how long
// functions and files may be.
//
// Each rule is a function from parsed packages to a list of faults, so that
// its tests can run it on this tree, where it must find nothing, and on
// modules with planted faults, where it must find each of them.
//
// It is used by tests alone.
package deptest
