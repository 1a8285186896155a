package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// permissions says what the user may not do, and the command that allows all.
func (e *checkup) permissions(ctx context.Context) Finding {
	f := Finding{
		Check: "permissions", Severity: Fault,
		Why:  "what needs it fails: limits are not counted, and every stage decides by its on_fault",
		Cure: fmt.Sprintf("ACL SETUSER %s '~%s*' '&%s*' %s, then ACL SAVE", e.user(), e.store.prefix, e.store.prefix, e.store.rules()),
	}
	commands, keys := e.lacking(ctx)
	switch {
	case keys:
		f.Seen = fmt.Sprintf("the user may not use keys that begin with %s", e.store.prefix)
	case len(commands) > 0:
		f.Seen = "the user may not run " + strings.Join(commands, ", ")
	default:
		return Finding{}
	}
	return f
}

// attempt is a harmless call of one command that a worker needs, on a key of
// the checkup's own: none of them leaves anything for longer than a second.
type attempt struct {
	rule string // of Permissions
	args []any
}

func (e *checkup) attempts() []attempt {
	set, hash, list := e.scratch.prefix+"{permissions}", e.scratch.prefix+"{permissions}h", e.scratch.prefix+"{permissions}l"
	return []attempt{
		{"+evalsha", []any{"EVALSHA", e.store.claims.hash, 0}},
		{"+script|load", []any{"SCRIPT", "LOAD", e.store.claims.source}},
		{"+time", []any{"TIME"}},
		{"+get", []any{"GET", set}},
		{"+set", []any{"SET", set, "", "PX", 1000}},
		{"+getrange", []any{"GETRANGE", set, 0, 1}},
		{"+del", []any{"DEL", set}},
		{"+zadd", []any{"ZADD", set, 1, "member"}},
		{"+pexpire", []any{"PEXPIRE", set, 1000}},
		{"+pttl", []any{"PTTL", set}},
		{"+zcount", []any{"ZCOUNT", set, 0, 1}},
		{"+zscore", []any{"ZSCORE", set, "member"}},
		{"+zremrangebyscore", []any{"ZREMRANGEBYSCORE", set, 0, 0}},
		{"+zrem", []any{"ZREM", set, "member"}},
		{"+hset", []any{"HSET", hash, "f", ""}},
		{"+pexpire", []any{"PEXPIRE", hash, 1000}},
		{"+hget", []any{"HGET", hash, "f"}},
		{"+hmget", []any{"HMGET", hash, "f"}},
		{"+rpush", []any{"RPUSH", list, ""}},
		{"+llen", []any{"LLEN", list}},
		{"+lrange", []any{"LRANGE", list, 0, 0}},
		{"+ltrim", []any{"LTRIM", list, 1, 0}},
		{"+publish", []any{"PUBLISH", e.scratch.prefix + "permissions", ""}},
		{"+del", []any{"DEL", hash}},
	}
}

// lacking finds out which commands a user may not run, by running each that is
// in Permissions, and whether it may not use the keys.
func (e *checkup) lacking(ctx context.Context) (commands []string, keys bool) {
	needed := strings.Fields(Permissions)
	for _, a := range e.attempts() {
		if !slices.Contains(needed, a.rule) {
			continue
		}
		err := e.do(ctx, func(ctx context.Context) error { return e.store.client.Do(ctx, a.args...).Err() })
		if !denied(err) {
			continue // any other error is not about permissions
		}
		if strings.Contains(err.Error(), "'select'") {
			return []string{"SELECT"}, false // the connection is not made
		}
		if strings.Contains(err.Error(), "keys") {
			return nil, true
		}
		if name := strings.ToUpper(strings.ReplaceAll(a.rule[1:], "|", " ")); !slices.Contains(commands, name) {
			commands = append(commands, name)
		}
	}
	if denied(e.do(ctx, e.listen)) {
		commands = append(commands, "SUBSCRIBE")
	}
	return commands, false
}

// listen listens to a channel of the checkup's own for a moment.
func (e *checkup) listen(ctx context.Context) error {
	subscription := e.store.client.Subscribe(ctx, e.scratch.prefix+"permissions")
	_, err := subscription.Receive(ctx)
	return errors.Join(err, subscription.Close())
}

// rules are Permissions for the mode that the server is run in.
func (s *Store) rules() string {
	if s.cluster {
		return ClusterPermissions
	}
	if one, ok := s.client.(*redis.Client); ok && one.Options().DB != 0 {
		return Permissions + " +select"
	}
	return Permissions
}
