// Package config reads the one file that says how a process is protected, and
// makes live things of it.
//
// Reading is strict. What is unknown, given twice, out of range or ambiguous
// is an error that names file, line, column, path and what is allowed, and all
// errors come at once. A key that is absent has the default that the reference
// and the JSON Schema state; both are generated from the types of this package.
//
// Use it where settings come from outside the program. A program that knows
// its settings when it is written is simpler off with the packages under
// stages, which config only calls. A File is made by Default, Parse or Load;
// the zero File lacks the defaults and does not pass Validate. A File that is
// not changed any more may be read concurrently.
//
// Nothing here runs while a request is decided.
package config
