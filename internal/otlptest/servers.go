package otlptest

import (
	"context"
	"fmt"
	"io"
	"net/http"

	collectlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // senders may compress
	"google.golang.org/protobuf/proto"
)

// ServeHTTP takes what is posted to /v1/metrics, /v1/traces and /v1/logs in the
// binary format, of at most 16 MiB and not compressed.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, in.Body, 16<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	answer, err := r.take(in.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	encoded, _ := proto.Marshal(answer) // an empty message
	_, _ = w.Write(encoded)
}

func (r *Receiver) take(path string, body []byte) (answer proto.Message, err error) {
	switch path {
	case "/v1/metrics":
		request := new(collectmetrics.ExportMetricsServiceRequest)
		if err = proto.Unmarshal(body, request); err == nil {
			r.tookMetrics(request)
		}
		return new(collectmetrics.ExportMetricsServiceResponse), err
	case "/v1/traces":
		request := new(collecttrace.ExportTraceServiceRequest)
		if err = proto.Unmarshal(body, request); err == nil {
			r.tookSpans(request)
		}
		return new(collecttrace.ExportTraceServiceResponse), err
	case "/v1/logs":
		request := new(collectlogs.ExportLogsServiceRequest)
		if err = proto.Unmarshal(body, request); err == nil {
			r.tookLogs(request)
		}
		return new(collectlogs.ExportLogsServiceResponse), err
	}
	return nil, fmt.Errorf("otlptest: no signal at %s", path)
}

// GRPC is a server of the three services. The caller lets it serve and stops it.
func (r *Receiver) GRPC() *grpc.Server {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20))
	collectmetrics.RegisterMetricsServiceServer(server, metricsService{receiver: r})
	collecttrace.RegisterTraceServiceServer(server, traceService{receiver: r})
	collectlogs.RegisterLogsServiceServer(server, logsService{receiver: r})
	return server
}

type metricsService struct {
	collectmetrics.UnimplementedMetricsServiceServer

	receiver *Receiver
}

// Export takes metrics.
func (s metricsService) Export(_ context.Context, request *collectmetrics.ExportMetricsServiceRequest) (*collectmetrics.ExportMetricsServiceResponse, error) {
	s.receiver.tookMetrics(request)
	return new(collectmetrics.ExportMetricsServiceResponse), nil
}

type traceService struct {
	collecttrace.UnimplementedTraceServiceServer

	receiver *Receiver
}

// Export takes spans.
func (s traceService) Export(_ context.Context, request *collecttrace.ExportTraceServiceRequest) (*collecttrace.ExportTraceServiceResponse, error) {
	s.receiver.tookSpans(request)
	return new(collecttrace.ExportTraceServiceResponse), nil
}

type logsService struct {
	collectlogs.UnimplementedLogsServiceServer

	receiver *Receiver
}

// Export takes log records.
func (s logsService) Export(_ context.Context, request *collectlogs.ExportLogsServiceRequest) (*collectlogs.ExportLogsServiceResponse, error) {
	s.receiver.tookLogs(request)
	return new(collectlogs.ExportLogsServiceResponse), nil
}

func text(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *commonpb.AnyValue_KvlistValue:
		return fmt.Sprint(Texts(v.KvlistValue.GetValues()))
	}
	return ""
}
