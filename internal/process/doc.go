// Package process makes a configuration live: the pipeline, the proxy behind
// it, the listener for operators beside it, and the reloading of the file.
//
// It is the wiring of the command and of its demonstration. A program that
// protects a handler of its own needs none of it: config.Build, a pipeline and
// the middleware are enough.
//
// A Process is made by New, which fails on a faulty configuration and starts
// nothing, and runs once. Its methods may be called concurrently.
package process
