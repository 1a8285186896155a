package memstore

import (
	_ "github.com/plimsoll-go/plimsoll/pipeline"
	_ "github.com/plimsoll-go/plimsoll/store/storetest"
)
