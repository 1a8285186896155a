package demo

import (
	"fmt"
	"strconv"
	"time"
)

// none stands where there is nothing to count.
const none = "·"

// count renders a number with its thousands apart, or none for 0.
func count(n float64) string {
	if n < 0.5 {
		return none
	}
	return thousands(n)
}

// thousands renders a number of at least 0 with its thousands apart.
func thousands(n float64) string {
	digits := strconv.FormatInt(int64(n+0.5), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// percent renders a share. It rounds down, so that 100% means all.
func percent(share float64) string {
	return fmt.Sprintf("%.1f%%", float64(int(share*1000+1e-9))/10)
}

// round renders a share that somebody chose.
func round(share float64) string { return fmt.Sprintf("%.3g%%", share*100) }

// times renders a multiple of the capacity.
func times(multiple float64) string { return strconv.FormatFloat(multiple, 'g', 3, 64) + "×" }

// millis renders a latency, or none for 0.
func millis(d time.Duration) string {
	if d == 0 {
		return none
	}
	return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + "ms"
}

// seconds renders a length of whole seconds.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(d.Round(time.Second)/time.Second), 10) + "s"
}
