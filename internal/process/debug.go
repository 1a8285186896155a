package process

import (
	"net/http"
	"strings"

	"github.com/plimsoll-go/plimsoll/admin/dump"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

// debug is the text dumps of the process.
func (p *Process) debug() (http.Handler, error) {
	return dump.New(dump.Config{Pipeline: p.pipeline, Telemetry: p.telemetry, Limits: p.limits})
}

// limits is what the file that runs limits, as the overrides of operators change
// it.
func (p *Process) limits() (list []dump.Limit) {
	stages := p.built.Load().File.Stages
	for i := range stages {
		s := &stages[i]
		if s.RateLimit != nil {
			for j := range s.RateLimit.Limits {
				l := &s.RateLimit.Limits[j]
				list = append(list, dump.Limit{Entry: s.Label(), Name: string(l.Name), Key: keyOf(l.Key), Amount: strings.TrimPrefix(rateOf(l), string(l.Name)+" ")})
			}
		}
		if s.Concurrency != nil {
			for j := range s.Concurrency.Limits {
				l := &s.Concurrency.Limits[j]
				list = append(list, dump.Limit{Entry: s.Label(), Name: string(l.Name), Key: keyOf(l.Key), Amount: strings.TrimPrefix(slotsOf(l), string(l.Name)+" ")})
			}
		}
		if s.FleetShed != nil || s.WorkerShed != nil {
			list = append(list, dump.Limit{Entry: s.Label(), Name: string(s.Kind), Amount: limitsOf(s)})
		}
	}
	return list
}

// keyOf is whose requests count together, as the file writes it.
func keyOf(o pipeline.Owner) string {
	if len(o) == 0 {
		return "everybody"
	}
	words := make([]string, len(o))
	for i, part := range o {
		words[i] = [...]string{
			pipeline.ByCaller: "caller", pipeline.ByAddress: "address", pipeline.ByRoute: "route",
			pipeline.ByClass: "class", pipeline.ByHost: "host", pipeline.ByHeader: "header:" + part.Header,
		}[part.Kind]
	}
	return strings.Join(words, ",")
}
