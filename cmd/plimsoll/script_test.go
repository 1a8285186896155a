package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"plimsoll": main})
}

// TestScripts runs testdata/script: each is a story of the command, told with
// a service to protect and signals to send.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[stageKey{}] = &stage{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"upstream": upstream, "freeport": freeport, "get": get, "hold": hold, "release": release, "signal": sendSignal,
			"redis": redisServer, "redisdo": redisDo,
			"exits": exits, "await": await, "traffic": traffic, "grab": grab,
		},
	})
}

// stage is what a script has set up in this process.
type stage struct {
	entered, leave chan struct{}
	held           chan string // the answer to the request on hold
}

type stageKey struct{}

func of(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

// upstream starts a service and sets UPSTREAM to its URL. It answers hello, and
// holds requests to /hold until they are released.
func upstream(ts *testscript.TestScript, _ bool, _ []string) {
	s := of(ts)
	s.entered, s.leave = make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			s.entered <- struct{}{}
			<-s.leave
		}
		fmt.Fprintf(w, "hello from %s\n", r.URL.Path)
	}))
	ts.Defer(server.Close)
	ts.Setenv("UPSTREAM", server.URL)
}

// freeport NAME… sets each name to an address on which nobody listens.
func freeport(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(name, l.Addr().String())
		ts.Check(l.Close())
	}
}

// get STATUS URL [header:value …] asks until the answer has that status, and
// prints it: for as long as a process may take to start, or to reload.
func get(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: get STATUS URL [header:value …]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	patience := time.After(30 * time.Second)
	for {
		status, text, err := ask(args[1], args[2:])
		if err == nil && status == want {
			fmt.Fprint(ts.Stdout(), text)
			return
		}
		select {
		case <-retry.C:
		case <-patience:
			ts.Fatalf("%s answers %d, want %d: %v\n%s", args[1], status, want, err, text)
		}
	}
}

// ask returns an answer with its status and headers.
func ask(url string, headers []string) (status int, text string, err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	var all strings.Builder
	fmt.Fprintln(&all, response.Status)
	for name := range response.Header {
		fmt.Fprintf(&all, "%s: %s\n", name, response.Header.Get(name))
	}
	all.Write(body)
	return response.StatusCode, all.String(), err
}

// exits CODE COMMAND runs a command that has to exit with this code; several
// codes are told apart by |.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if !slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(code)) {
		ts.Fatalf("%v exits with %d, want %s", args[1:], code, args[0])
	}
}

// await TEXT COMMAND runs a command until it prints a text.
func await(ts *testscript.TestScript, _ bool, args []string) {
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	patience := time.After(30 * time.Second)
	for {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		select {
		case <-retry.C:
		case <-patience:
			ts.Fatalf("%v never prints %q", args[1:], args[0])
		}
	}
}

// traffic N URL [header:value …] sends requests one after the other, whatever
// the answers are; % in a header is the number of the request.
func traffic(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for i := range n {
		var headers []string
		for _, h := range args[2:] {
			headers = append(headers, strings.ReplaceAll(h, "%", strconv.Itoa(i)))
		}
		_, _, err := ask(args[1], headers)
		ts.Check(err)
	}
}

// grab NAME REGEXP sets a variable to what the expression finds in the last
// output.
func grab(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("there is no %s in\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], found[1])
}

// hold URL sends a request, and goes on when the service has it.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	s := of(ts)
	s.held = make(chan string, 1)
	go func() {
		_, text, err := ask(args[0], nil)
		s.held <- fmt.Sprint(text, err)
	}()
	select {
	case <-s.entered:
	case text := <-s.held:
		ts.Fatalf("the request never reached the service: %s", text)
	}
}

// release lets the request on hold go on, and prints its answer.
func release(ts *testscript.TestScript, _ bool, _ []string) {
	s := of(ts)
	close(s.leave)
	fmt.Fprint(ts.Stdout(), <-s.held)
}

// sendSignal HUP or TERM to what runs in the background.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(signals[args[0]]))
	}
}
