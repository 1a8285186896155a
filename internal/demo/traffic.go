package demo

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// merchants is how many callers share the traffic. Two more know no measure: a
// report that sends a third of the reads, and a payout run that sends a quarter
// of the refunds.
const (
	merchants = 100
	reportKey = "rk_monthly_report"
	payoutKey = "rk_payout_run"
)

const money = `{"amount":4200,"currency":"eur"}`

// traffic makes requests of arrivals. What requests share is made once.
type traffic struct {
	urls           [priority.Count]*url.URL
	keys           []http.Header // by merchant
	test           []http.Header // by merchant, in test mode
	report, payout http.Header
}

func newTraffic(base string) (*traffic, error) {
	t := &traffic{report: header(reportKey), payout: header(payoutKey)}
	for i := range merchants {
		t.keys = append(t.keys, header(fmt.Sprintf("mk_live_%03d", i)))
		inTest := header(fmt.Sprintf("mk_test_%03d", i))
		inTest.Set("X-Mode", "test")
		t.test = append(t.test, inTest)
	}
	for i, path := range [priority.Count]string{"/v1/charges", "/v1/charges/ch_42", "/v1/refunds", "/v1/charges"} {
		u, err := url.Parse(base + path)
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		t.urls[i] = u
	}
	return t, nil
}

func header(key string) http.Header { return http.Header{"X-Api-Key": {key}} }

// request is critical as a charge, high as a refund, normal as a read, and low
// as a charge in test mode.
func (t *traffic) request(a load.Arrival) *http.Request {
	r := &http.Request{Method: http.MethodPost, URL: t.urls[a.Class.Index()], Header: t.keys[a.Pick%merchants]}
	switch dice := a.Pick / merchants; {
	case a.Class == priority.Low:
		r.Header = t.test[a.Pick%merchants]
	case a.Class == priority.High && dice%4 == 0:
		r.Header = t.payout
	case a.Class == priority.Normal && dice%3 == 0:
		r.Header = t.report
	}
	if a.Class == priority.Normal {
		r.Method = http.MethodGet
		return r
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(money)), int64(len(money))
	return r
}
