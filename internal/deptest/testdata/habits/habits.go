package habits

import "time"

type StageManager struct{}

func pause() { time.Sleep(time.Second) } // no test
