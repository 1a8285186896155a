package proxy

import _ "github.com/plimsoll-go/plimsoll/cmd/plimsoll"
