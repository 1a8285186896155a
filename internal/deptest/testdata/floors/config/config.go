package config

import _ "github.com/plimsoll-go/plimsoll/stages/ratelimit"
