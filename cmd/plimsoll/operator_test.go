package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/internal/operator"
	"github.com/plimsoll-go/plimsoll/priority"
)

// typed runs a command against a handler, and returns what it printed.
func typed(t *testing.T, handle http.HandlerFunc, args ...string) (string, error) {
	t.Helper()
	server := httptest.NewServer(handle)
	defer server.Close()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append(args, "--admin", server.URL))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// A trail that somebody altered is an answer that is no.
func TestAuditVerifySaysNo(t *testing.T) {
	text, err := typed(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"records":3,"first":1,"last":3,"broken":4,"problem":"it was altered"}`)
	}, "audit", "verify")
	if !errors.Is(err, errNo) || !strings.Contains(text, "broken at record 4: it was altered") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Whoever does not know what became of a change is told the key, and repeats it
// with that, without reading the version anew.
func TestAChangeIsRepeatedByItsKey(t *testing.T) {
	var keys, tags []string
	handle := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"etag":"\"E-%d\""}`, len(keys)+1)
			return
		}
		keys, tags = append(keys, r.Header.Get("Idempotency-Key")), append(tags, r.Header.Get("If-Match"))
		if len(keys) < 3 {
			w.WriteHeader(http.StatusGatewayTimeout)
			fmt.Fprint(w, `{"type":"urn:plimsoll:problem:unknown","title":"the outcome is not known"}`)
			return
		}
		fmt.Fprint(w, `{"version":2,"seq":1,"replayed":true,"override":{"id":"ov-1","what":"bypass"}}`)
	}
	shed := []string{"shed", "--below", "high", "--reason", "a test", "--yes"}
	_, err := typed(t, handle, shed...)
	f, ok := errors.AsType[*operator.Failure](err)
	if !ok || f.Kind.ExitCode() != 6 || f.Key == "" {
		t.Fatalf("got %v", err)
	}
	text, err := typed(t, handle, append(shed, "--retry", f.Key)...)
	if err != nil || !strings.Contains(text, "it had been made before") {
		t.Fatalf("%v\n%s", err, text)
	}
	for i := range keys {
		if keys[i] != keys[0] || tags[i] != `"E-1"` {
			t.Errorf("attempt %d: key %q, tag %q", i, keys[i], tags[i])
		}
	}
}

// A game day ends when what it does not mean is refused, and not for what it
// does.
func TestAGameDayHasAnEye(t *testing.T) {
	g := &gameDay{creation: &creation{}, spared: 5}
	g.ask.Scope.Below = "normal"
	state := func(word string, low, normal uint64) *admin.Status {
		return &admin.Status{State: word, Counts: admin.Counts{Classes: []admin.ClassCounts{{Class: priority.Normal, Rejected: normal}, {Class: priority.Low, Rejected: low}}}}
	}
	calm := state(admin.Serving, 0, 0)
	for _, c := range []struct {
		before, now *admin.Status
		says        string
	}{
		{nil, state(admin.Serving, 900, 900), ""},
		{calm, state(admin.Serving, 900, 5), ""},
		{calm, state(admin.Serving, 0, 6), "6 requests of class normal"},
		{calm, state(admin.Draining, 0, 0), "the process is draining"},
		{state(admin.Serving, 9, 9), calm, ""},
	} {
		if got := g.judge(c.before, c.now); (got == "") != (c.says == "") || !strings.HasPrefix(got, c.says) {
			t.Errorf("%+v: %q, want %q", c.now, got, c.says)
		}
	}
	g.ask.Scope.Below = "high"
	if got := g.judge(calm, state(admin.Serving, 0, 6)); got != "" {
		t.Errorf("below high: %q", got)
	}
}

// What troff would take for a request of its own is text.
func TestManualPagesAreText(t *testing.T) {
	if got := roff("a-b \\ c\n.so /etc/passwd\n'x"); got != "a\\-b \\e c\n\\&.so /etc/passwd\n\\&'x" {
		t.Errorf("got %q", got)
	}
	if got := page(shedCommand()); !strings.Contains(got, ".SH OPTIONS") || !strings.Contains(got, `\-\-below string`) {
		t.Errorf("got %s", got)
	}
}
