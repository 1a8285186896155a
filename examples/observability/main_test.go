package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// It says where to look, tells the story, and ends without an error when it is
// told to.
func TestRun(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, write, "127.0.0.1:0", 20*time.Second)
		write.Close()
	}()
	var said strings.Builder
	wanted := []string{"/alerts", "/graph?g0", "worker-4", "plimsoll-incident.json", "a calm day", "three times too much"}
	buffer := make([]byte, 4096)
	for {
		n, err := read.Read(buffer)
		said.Write(buffer[:n])
		if strings.Contains(said.String(), wanted[len(wanted)-1]) {
			cancel()
		}
		if err != nil {
			break
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, word := range wanted {
		if !strings.Contains(said.String(), word) {
			t.Errorf("no %s in\n%s", word, said.String())
		}
	}
}

func TestAnAddressThatIsTaken(t *testing.T) {
	if _, err := free("127.0.0.1:0"); err != nil {
		t.Error(err)
	}
	if _, err := free("nowhere:port"); err == nil || !strings.Contains(err.Error(), "-prometheus") {
		t.Errorf("error %v", err)
	}
}
