package memstore

import _ "github.com/plimsoll-go/plimsoll/store/storetest" // tests may
