package match

import (
	"time"

	_ "github.com/plimsoll-go/plimsoll/store"
)

var start = time.Now()
