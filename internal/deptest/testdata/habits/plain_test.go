package habits

import "time"

func pauseOutside() { time.Sleep(1) }
