package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	_ "embed"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

//go:embed common.lua
var common string

//go:embed bucket.lua
var bucketSource string

//go:embed claim.lua
var claimSource string

//go:embed settle.lua
var settleSource string

//go:embed loan.lua
var loanSource string

//go:embed lend.lua
var lendSource string

//go:embed control.lua
var controlSource string

//go:embed swap.lua
var swapSource string

// script is one of the scripts, with the name that servers give it.
type script struct {
	source, hash string
	mu           sync.Mutex
	loads        int // how often it was loaded
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // not for security
	return &script{source: source, hash: hex.EncodeToString(sum[:])}
}

// seen is a number to hand to load when the script turns out to be missing.
func (s *script) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// load teaches the server the script, unless somebody did so since it was seen.
func (s *script) load(ctx context.Context, client redis.UniversalClient, seen int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loads != seen {
		return nil
	}
	if err := client.ScriptLoad(ctx, s.source).Err(); err != nil {
		return err
	}
	s.loads++
	return nil
}

// job is one call of a script, or a command that needs none.
type job struct {
	command string // none: the script
	keys    []string
	args    []any
	way     string // through the script of claims; "": the general one
	cmd     *redis.Cmd
}

// run sends calls of a script together, and again those that did not run
// because the server does not know it. No other call is ever sent twice.
func (s *script) run(ctx context.Context, client redis.UniversalClient, jobs []job) {
	seen := s.seen()
	s.send(ctx, client, jobs)
	var missing []int
	for i := range jobs {
		if err := jobs[i].cmd.Err(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 || s.load(ctx, client, seen) != nil {
		return
	}
	again := make([]job, len(missing))
	for i, n := range missing {
		again[i] = jobs[n]
	}
	s.send(ctx, client, again)
	for i, n := range missing {
		jobs[n].cmd = again[i].cmd
	}
}

func (s *script) send(ctx context.Context, client redis.UniversalClient, jobs []job) {
	pipe := client.Pipeline()
	for i := range jobs {
		if j := &jobs[i]; j.command == "" {
			j.cmd = pipe.EvalSha(ctx, s.hash, j.keys, j.args...)
		} else {
			j.cmd = pipe.Do(ctx, append([]any{j.command, j.keys[0]}, j.args...)...)
		}
	}
	_, err := pipe.Exec(ctx)
	for i := range jobs {
		if cmd := jobs[i].cmd; err != nil && cmd.Err() == nil && cmd.Val() == nil {
			cmd.SetErr(err) // no connection, because the server refused it: the client tells no call of that
		}
	}
}
