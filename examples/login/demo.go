package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

// attempt is one try to log in.
type attempt struct {
	from              string // an address
	account, password string
	cookie            *http.Cookie // of a browser that has been here
}

func (a attempt) at(handler http.Handler) *http.Response {
	form := url.Values{"account": {a.account}, "password": {a.password}}
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = a.from + ":4711"
	if a.cookie != nil {
		r.AddCookie(a.cookie)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result()
}

// demonstrate plays two attacks, and shows who gets in meanwhile.
func demonstrate(out io.Writer) error {
	handler, err := login()
	if err != nil {
		return err
	}
	office, alice := "203.0.113.7", attempt{from: "203.0.113.7", account: "alice", password: "rabbit"}
	first := alice.at(handler)
	fmt.Fprintln(out, "Alice logs in from her office:", first.Status)
	alice.cookie = first.Cookies()[0]

	tried, last := 0, (*http.Response)(nil)
	for i := range 1000 {
		last = attempt{from: fmt.Sprintf("198.51.%d.%d", i/250, i%250), account: "alice", password: fmt.Sprint(i)}.at(handler)
		tried += reached(last)
	}
	report(out, "1000 passwords for Alice's account, each from another address", tried, last)
	fmt.Fprintln(out, "Alice logs in again, in the browser that she always uses:", alice.at(handler).Status)

	tried = 0
	for i := range 1000 {
		last = attempt{from: office, account: fmt.Sprint("user", i), password: "123456"}.at(handler)
		tried += reached(last)
	}
	report(out, "1000 accounts from a machine in Alice's office", tried, last)
	fmt.Fprintln(out, "Alice, behind the same address, logs in again:", alice.at(handler).Status)
	return nil
}

// reached is 1 if the password was looked at.
func reached(r *http.Response) int {
	if r.StatusCode == http.StatusTooManyRequests {
		return 0
	}
	return 1
}

func report(out io.Writer, what string, tried int, last *http.Response) {
	fmt.Fprintf(out, "%s:\n  %d were looked at, then %s, Retry-After %s s\n", what, tried, last.Status, last.Header.Get("Retry-After"))
}
