package priority

import (
	_ "github.com/plimsoll-go/plimsoll/limit"
	_ "github.com/plimsoll-go/plimsoll/match" // allowed beside
)
