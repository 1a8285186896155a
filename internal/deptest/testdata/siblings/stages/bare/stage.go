package bare

import "github.com/plimsoll-go/plimsoll/pipeline"

var _ pipeline.Stage = (*other)(nil)

type other struct{}
