package main

import (
	"context"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// redisServer starts a redis-server with further arguments, which ends with the
// script, and sets REDIS to the path of its socket.
func redisServer(ts *testscript.TestScript, _ bool, args []string) {
	s, err := redistest.New(redistest.Config{Args: args})
	ts.Check(err)
	ts.Defer(s.End)
	ts.Check(s.Launch(context.Background()))
	ts.Setenv("REDIS", s.Socket)
}

// redisDo runs an administrator's command on the server at a socket.
func redisDo(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: redisdo COMMAND …")
	}
	ts.Check(ts.Exec("redis-cli", append([]string{"-s", ts.Getenv("REDIS")}, args...)...))
	if out := ts.ReadFile("stdout"); strings.Contains(out, "ERR") {
		ts.Fatalf("%v: %s", args, out)
	}
}
