// Package telemetry counts what a pipeline does and shows the counts to
// Prometheus and to OpenTelemetry.
//
// A Telemetry is a pipeline's observer: it adds to cells that are there before
// the first request. Both exporters read the same cells, and are built from
// one table of definitions, from which docs/metrics.md is generated, too. Use
// it for what a machine reads at intervals; what became of one request is a
// matter of its response, of traces and of logs.
//
// Labels are closed sets and the names of a plan's entries, never a caller, a
// path or a method. Names that come new after 64 others share the name other,
// so that no sequence of plans makes more series than that. Counts go by
// name: they live on when the plan changes.
//
// A Telemetry is made by New; the zero value is not usable. All methods may be
// called concurrently. Counting a decision costs two atomic additions, a
// refusal three, and one reading of the pipeline's clock; nothing is
// allocated. Reading everything costs about a millisecond.
//
// Spans notes decisions on the spans of OpenTelemetry, and RefusalLog logs a
// sample of the refusals. Both are there for who asks for them. Package otlp
// pushes all three signals.
package telemetry
