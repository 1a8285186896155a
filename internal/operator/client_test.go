package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
)

// seen is what a server was asked.
type seen struct {
	mu   sync.Mutex
	keys []string
	tags []string
}

// serving is a client of a handler, which is told the number of the request.
func serving(t *testing.T, s *seen, handle func(n int, w http.ResponseWriter, r *http.Request)) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
		s.tags = append(s.tags, r.Header.Get("If-Match"))
		n := len(s.keys)
		s.mu.Unlock()
		handle(n, w, r)
	}))
	t.Cleanup(server.Close)
	c, err := New(Config{Address: server.URL, Token: "secret", Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func told(w http.ResponseWriter, status int, kind, more string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"urn:plimsoll:problem:%s","title":"no","status":%d%s}`, kind, status, more)
}

// Every status is a kind, a sentence and an exit code of its own.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, more string
		exit       int
		says       string
	}{
		{400, "invalid", `,"detail":"control: it is odd"`, 2, "no: it is odd"},
		{422, "invalid", `,"faults":[{"path":"override.percent","problem":"must be 1 … 100"},{"path":"","problem":"more"}]`, 2, "no: override.percent: must be 1 … 100; more"},
		{401, "unauthenticated", "", 4, "no"},
		{403, "protected", `,"detail":"a class"`, 4, "no: a class"},
		{429, "too-many", "", 4, "try again in 7 s"},
		{404, "not-found", "", 1, "no"},
		{409, "conflict", "", 5, "no"},
		{412, "stale", `,"detail":"version 4"`, 5, "somebody changed the overrides meanwhile (version 4)"},
		{503, "unavailable", "", 3, "no"},
		{500, "internal", `,"detail":"\u001b[31mred"`, 1, "no: ·[31mred"},
	} {
		client := serving(t, &seen{}, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			told(w, c.status, c.kind, c.more)
		})
		_, err := client.Get(t.Context(), "/v1/whoami", nil)
		f, ok := errors.AsType[*Failure](err)
		if !ok || f.Kind.ExitCode() != c.exit || !strings.Contains(f.Sentence, c.says) || f.Key != "" {
			t.Errorf("%d: %+v, want exit code %d and %q", c.status, err, c.exit, c.says)
		}
	}
}

// What is no answer of this API is no success.
func TestStrangers(t *testing.T) {
	client := serving(t, &seen{}, func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 1:
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case 2:
			fmt.Fprint(w, "<html>")
		default:
			panic(http.ErrAbortHandler)
		}
	})
	for i, exit := range []int{1, 1, 3} {
		var into map[string]any
		_, err := client.Get(t.Context(), "/", &into)
		if f, ok := errors.AsType[*Failure](err); !ok || f.Kind.ExitCode() != exit {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func unknownKey(t *testing.T, err error) string {
	t.Helper()
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Kind != Unknown || f.Kind.ExitCode() != 6 {
		t.Fatalf("got %v, want unknown", err)
	}
	return f.Key
}

// A change whose answer is lost is sent once more, with the same key and tag.
func TestAnUnknownChangeIsRepeatedWithItsKey(t *testing.T) {
	s := &seen{}
	client := serving(t, s, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			panic(http.ErrAbortHandler) // after the change may have been made
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(control.Result{Version: 8, Seq: 3, Replayed: true})
	})
	key := Key(`"EPOCH-7"`)
	result, _, err := client.Create(t.Context(), &Ask{What: control.Bypass}, key)
	if err != nil || !result.Replayed {
		t.Fatal(result, err)
	}
	if len(s.keys) != 2 || s.keys[0] != key || s.keys[1] != key || s.tags[0] != `"EPOCH-7"` || s.tags[1] != s.tags[0] {
		t.Errorf("sent with keys %q and tags %q", s.keys, s.tags)
	}
}

// When it stays unknown, the key says how to go on; a refusal is never
// repeated.
func TestWhatStaysUnknownNamesItsKey(t *testing.T) {
	s := &seen{}
	client := serving(t, s, func(_ int, w http.ResponseWriter, _ *http.Request) { told(w, 504, "unknown", "") })
	key := Key(`"EPOCH-7"`)
	_, _, err := client.Change(t.Context(), &About{Action: control.Revoke, ID: "x"}, key)
	if got := unknownKey(t, err); got != key || len(s.keys) != 2 {
		t.Errorf("%q after %d attempts", got, len(s.keys))
	}
	s = &seen{}
	client = serving(t, s, func(_ int, w http.ResponseWriter, _ *http.Request) { told(w, 412, "stale", "") })
	if _, _, err := client.Change(t.Context(), &About{Action: control.Revoke, ID: "x"}, key); err == nil || len(s.keys) != 1 {
		t.Errorf("%v after %d attempts", err, len(s.keys))
	}
}

// A process that is gone after the first attempt leaves it unknown; one that was
// never there does not.
func TestGone(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		server.Listener.Close()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	c, err := New(Config{Address: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	key := Key(`"EPOCH-1"`)
	_, _, err = c.Create(t.Context(), &Ask{}, key)
	if got := unknownKey(t, err); got != key {
		t.Errorf("the key is %q", got)
	}
	_, _, err = c.Create(t.Context(), &Ask{}, key)
	if f, ok := errors.AsType[*Failure](err); !ok || f.Kind != Unreachable || f.Key != "" {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Create(t.Context(), &Ask{}, "made-up"); err == nil || !strings.Contains(err.Error(), "is no key") {
		t.Errorf("got %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "ftp://x", "unix:relative", "http://", "::"} {
		if _, err := New(Config{Address: address}); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
	for address, loopback := range map[string]bool{
		"127.0.0.1:9901": true, "http://localhost:1": true, "https://[::1]:1": true, "http://10.0.0.1:1": false, "http://localhost.example:1": false,
		"https://127.0.0.1.example": false, "unix:///x": false, "http://127.0.0.1@example.com": false,
	} {
		if OnLoopback(address) != loopback {
			t.Errorf("%s on loopback: %v", address, !loopback)
		}
	}
}

// The first token of a machine leaves it for nobody.
func TestWhereTokensAreFound(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, named, empty := file("first", "one\n"), file("named", " two \n"), file("empty", "\n")
	for _, c := range []struct {
		from    Credentials
		address string
		token   string
		fails   bool
	}{
		{Credentials{First: first}, "127.0.0.1:1", "one", false},
		{Credentials{First: first}, "https://shop.example", "", false},
		{Credentials{First: dir + "/none"}, "127.0.0.1:1", "", false},
		{Credentials{First: first, Value: "three"}, "127.0.0.1:1", "three", false},
		{Credentials{File: named, Value: "three"}, "https://shop.example", "two", false},
		{Credentials{File: empty}, "127.0.0.1:1", "", true},
		{Credentials{File: dir + "/none"}, "127.0.0.1:1", "", true},
	} {
		if token, err := c.from.Token(c.address); token != c.token || (err != nil) != c.fails {
			t.Errorf("%+v at %s: %q %v", c.from, c.address, token, err)
		}
	}
}
