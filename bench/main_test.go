package bench

import (
	"os"
	"testing"

	"github.com/zeromicro/go-zero/core/load"
	"github.com/zeromicro/go-zero/core/logx"
)

// TestMain silences a rival that prints its statistics every minute, into the
// middle of a result, and ends the server that benchmarks share.
func TestMain(m *testing.M) {
	logx.Disable()
	load.DisableLog()
	code := m.Run()
	endRedis()
	os.Exit(code)
}
