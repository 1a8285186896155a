package concurrency

import _ "github.com/plimsoll-go/plimsoll/config"
