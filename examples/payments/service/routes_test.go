package service

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

func TestRoutes(t *testing.T) {
	const money = `{"amount":1200,"currency":"eur"}`
	for _, c := range []struct {
		method, path, body string
		test               bool
		status             int
		want               string
	}{
		{"POST", "/v1/charges", money, false, 201, `{"id":"ch_7","amount":1200,"currency":"eur","livemode":true,"status":"succeeded"}`},
		{"POST", "/v1/charges", money, true, 201, `"livemode":false`},
		{"POST", "/v1/refunds", money, false, 201, `"id":"re_7"`},
		{"GET", "/v1/charges/ch_9", "", false, 200, `"id":"ch_9"`},
		{"GET", "/v1/balance", "", false, 200, `"amount":4200`},
		{"GET", "/healthz", "", false, 200, "ok"},
		{"POST", "/v1/charges", "", false, 400, "JSON object"},
		{"POST", "/v1/charges", `{"amount":0,"currency":"eur"}`, false, 400, "amount"},
		{"POST", "/v1/charges", `{"amount":1,"currency":"euro"}`, false, 400, "currency"},
		{"POST", "/v1/charges", `{"amount":1,"currency":"` + strings.Repeat("x", maxBody) + `"}`, false, 400, "JSON"},
		{"DELETE", "/v1/charges", "", false, 405, ""},
		{"GET", "/", "", false, 404, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			request.Header.Set("Idempotency-Key", "7")
			if c.test {
				request.Header.Set(testModeHeader, "test")
			}
			recorder := httptest.NewRecorder()
			must(t, Config{}).ServeHTTP(recorder, request)
			if got := recorder.Body.String(); recorder.Code != c.status || !strings.Contains(got, c.want) {
				t.Errorf("%s %s answers %d %s, want %d %s", c.method, c.path, recorder.Code, got, c.status, c.want)
			}
		})
	}
}

func TestAClosedServiceSaysSo(t *testing.T) {
	s := must(t, Config{Connections: 1})
	s.connections <- struct{}{}
	s.Close()
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequest("GET", "/v1/balance", nil))
	if recorder.Code != 503 {
		t.Errorf("answers %d", recorder.Code)
	}
}
