// Package dump tells what a process does now as plain text, in tables for a
// person with nothing but curl: for the hour in which the metrics system is
// what is broken. It reads, and changes nothing.
//
// Every answer is bounded in rows and in width, and what others wrote, such as
// the names of callers, cannot break a table or write to a terminal. Callers are
// shown as Caller.Label does, so never a credential; the listener decides who may
// look. An answer takes about a millisecond, off the path of requests. All
// functions may be called concurrently.
package dump
