// Package demo shows what Plimsoll does, on one machine and within half a
// minute: a sample payments service of known capacity, Plimsoll's proxy in
// front of it with the four stages, and a load that rises to a multiple of the
// capacity and falls again.
//
// Everything that it shows went over real connections through the real proxy,
// and the load is open-loop, so no figure is kinder than what clients would
// have seen. It ends with a verdict: what it claims, what it saw, and whether
// each claim held.
//
// It serves the command and is not for programs. Run may be called once at a
// time; the load and what is loaded share the machine.
package demo
