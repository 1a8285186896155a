package whole

import "github.com/plimsoll-go/plimsoll/pipeline"

var _ pipeline.Waiter = (*Stage)(nil)

type Stage struct{}
