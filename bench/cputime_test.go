package bench

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime reports, beside the time that passed, how much of the processor all
// of this process used for an operation: on a machine that is shared it is the
// figure that stays. Call the returned function when the work is done.
func cpuTime(b *testing.B) (done func()) {
	b.Helper()
	before := processTime()
	return func() {
		b.ReportMetric(float64(processTime()-before)/float64(b.N), "cpu-ns/op")
	}
}

func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
