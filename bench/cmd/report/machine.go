package main

import (
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where and when the figures were taken.
type machine struct {
	cpu       string
	cores     int
	goVersion string
	date      string
}

func readMachine() machine {
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere the name of the architecture has to do
	return machine{
		cpu: cpuModel(string(info)), cores: runtime.NumCPU(), goVersion: runtime.Version(),
		date: time.Now().UTC().Format("2006-01-02"),
	}
}

func cpuModel(info string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
