package httpmw_test

import "net/http"

// newRequest is a request as a server would hand it on.
func newRequest(method, target string) *http.Request {
	r, err := http.NewRequest(method, "http://service"+target, nil)
	if err != nil {
		panic(err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	return r
}
