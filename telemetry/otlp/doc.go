// Package otlp pushes metrics, traces and logs by the OpenTelemetry protocol,
// as the standard variables of the environment say. Use it in a process of its
// own, such as the command; a service that has an SDK already gives that the
// Telemetry's figures by RegisterOTel and Produce instead.
//
// A signal is pushed when its exporter or an endpoint is named, and nothing is
// pushed otherwise. The exporters are OpenTelemetry's own. What they are given
// waits in queues that are bounded: a receiver that hangs, refuses or is slow
// costs the oldest figures of nobody and the newest spans and records, which
// are counted, and no request ever waits for it.
//
// FromEnvironment reads and starts nothing; Start starts one goroutine for each
// signal, and Shutdown ends them within the time that it is given. All methods
// may be called concurrently.
package otlp
