package habits

import (
	"testing"
	"testing/synctest"
	nap "time"
)

func TestSleeps(t *testing.T) {
	nap.Sleep(1)
	synctest.Test(t, func(t *testing.T) { nap.Sleep(nap.Second) })
}

func TestSkips(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow")
	}
	t.Run("inner", func(t *testing.T) { t.SkipNow() })
}

func inTheBubble() { nap.Sleep(nap.Second) }
