package main

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// attacked runs a test of the service in virtual time.
func attacked(t *testing.T, test func(*testing.T, http.Handler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		handler, err := login()
		if err != nil {
			t.Fatal(err)
		}
		test(t, handler)
	})
}

// attack makes 1,000 attempts in ten minutes, and returns how many reached the
// password check.
func attack(handler http.Handler, nth func(int) attempt) (tried int) {
	for i := range 1000 {
		tried += reached(nth(i).at(handler))
		<-time.After(600 * time.Millisecond)
	}
	return tried
}

const office = "203.0.113.7"

var (
	alice = attempt{from: office, account: "alice", password: "rabbit"}
	bob   = attempt{from: office, account: "bob", password: "builder"}
)

// in reports an attempt that did not get in, and returns its cookie.
func in(t *testing.T, handler http.Handler, who string, a attempt) *http.Cookie {
	t.Helper()
	r := a.at(handler)
	if r.StatusCode != http.StatusOK {
		t.Errorf("%s gets %s, Retry-After %s", who, r.Status, r.Header.Get("Retry-After"))
		return nil
	}
	return r.Cookies()[0]
}

func TestOneAccountFromManyAddresses(t *testing.T) {
	attacked(t, func(t *testing.T, handler http.Handler) {
		known := alice
		known.cookie = in(t, handler, "alice", alice)
		tried := attack(handler, func(i int) attempt {
			return attempt{from: fmt.Sprintf("198.51.%d.%d", i/250, i%250), account: []string{"alice", "Alice", " ALICE "}[i%3], password: fmt.Sprint(i)}
		})
		if tried < 50 || tried > 5+10*5 {
			t.Errorf("%d passwords were looked at in ten minutes, want 5 a minute", tried)
		}
		in(t, handler, "alice, in her browser", known)
		in(t, handler, "bob, whom nobody attacks", bob)
	})
}

func TestManyAccountsFromOneAddress(t *testing.T) {
	attacked(t, func(t *testing.T, handler http.Handler) {
		known := alice
		known.cookie = in(t, handler, "alice", alice)
		tried := attack(handler, func(i int) attempt {
			return attempt{from: office, account: fmt.Sprint("user", i), password: "123456"}
		})
		if tried < 200 || tried > 20+10*20 {
			t.Errorf("%d accounts were tried in ten minutes, want 20 a minute", tried)
		}
		in(t, handler, "alice, in her browser behind the attacker's address", known)
		elsewhere := bob
		elsewhere.from = "192.0.2.1"
		in(t, handler, "bob, from another address", elsewhere)
	})
}

// Who guesses at one account leaves the others behind the address in peace,
// even those who were never here before.
func TestAStrangerBehindTheSameAddressGetsIn(t *testing.T) {
	attacked(t, func(t *testing.T, handler http.Handler) {
		tried := attack(handler, func(i int) attempt { return attempt{from: office, account: "alice", password: fmt.Sprint(i)} })
		if tried > 5+10*5 {
			t.Errorf("%d passwords were looked at", tried)
		}
		in(t, handler, "bob, behind the attacker's address", bob)
	})
}

func TestAnOfficeLogsInAtNine(t *testing.T) {
	attacked(t, func(t *testing.T, handler http.Handler) {
		for range 40 {
			in(t, handler, "alice", alice)
			in(t, handler, "bob", bob)
			<-time.After(time.Second)
		}
	})
}

// Neither headers nor the cookie of an account of one's own make a stranger
// known, once strangers have no guesses left.
func TestNobodyPassesForKnown(t *testing.T) {
	attacked(t, func(t *testing.T, handler http.Handler) {
		own := in(t, handler, "bob", bob)
		guess := attempt{from: "198.51.100.1", account: "alice", password: "x"}
		for range 5 {
			guess.at(handler)
		}
		guess.cookie = own
		if reached(guess.at(handler)) != 0 {
			t.Error("a cookie is good for another account")
		}
		claim := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader("account=alice&password=x"))
		claim.Header.Set(visitorHeader, acquainted)
		claim.Header.Set(deviceHeader, "x")
		claim.Header.Set(accountHeader, "x")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, claim)
		if reached(w.Result()) != 0 {
			t.Error("headers are believed")
		}
	})
}

// Who stole a browser's cookie guesses no faster than others.
func TestAKnownBrowserGuessesSlowly(t *testing.T) {
	attacked(t, func(t *testing.T, handler http.Handler) {
		stolen := in(t, handler, "alice", alice)
		tried := attack(handler, func(i int) attempt {
			return attempt{from: office, account: "alice", password: fmt.Sprint(i), cookie: stolen}
		})
		if tried < 50 || tried > 5+10*5 {
			t.Errorf("%d passwords were looked at in ten minutes, want 5 a minute", tried)
		}
	})
}

func TestOverAConnection(t *testing.T) {
	handler, err := login()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	for _, c := range []struct {
		form url.Values
		want int
	}{
		{url.Values{"account": {"alice"}, "password": {"wrong"}}, http.StatusUnauthorized},
		{url.Values{"account": {"nobody"}, "password": {""}}, http.StatusUnauthorized},
		{url.Values{"account": {"Alice"}, "password": {"rabbit"}}, http.StatusOK},
		{url.Values{"password": {"rabbit"}}, http.StatusBadRequest},
		{url.Values{"account": {strings.Repeat("a", maxForm)}}, http.StatusRequestEntityTooLarge},
	} {
		r, err := client.PostForm(server.URL+"/login", c.form)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != c.want {
			t.Errorf("%.40s: %s, want %d", c.form.Encode(), r.Status, c.want)
		}
	}
}

func TestTheDemonstrationTellsBothStories(t *testing.T) {
	var out strings.Builder
	if err := demonstrate(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "200 OK") != 3 || strings.Count(out.String(), "429 Too Many Requests") != 2 {
		t.Error(out.String())
	}
}
