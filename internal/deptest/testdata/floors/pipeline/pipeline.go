package pipeline

import (
	_ "net/http"

	_ "github.com/plimsoll-go/plimsoll/mystery"
	_ "github.com/prometheus/client_golang/prometheus"
)
