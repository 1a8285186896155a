// Package otlptest receives what is pushed by the OpenTelemetry protocol, over
// HTTP and over gRPC, decodes it, and keeps the last of it for a test or an
// example to look at. It is no collector: it passes nothing on.
//
// All methods may be called concurrently.
package otlptest
