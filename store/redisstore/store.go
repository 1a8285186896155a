package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-go/plimsoll/store"
)

// Store is a store.Driver on a Redis server, alone or watched by sentinels,
// or on a cluster of them.
type Store struct {
	client   redis.UniversalClient
	config   Config
	prefix   string
	patience *patience
	grace    int           // ms that keys outlive what they hold
	clock    func() string // empty: the server's
	cluster  bool
	others   chan struct{} // held by calls that are no claims, so that claims always have their connections
	group    *group
	apart    *apart
	haunted  *haunted

	claims, settles, lends, swaps *script
}

var _ store.Driver = (*Store)(nil)

// grace keeps a key for a second longer than what it holds: a clock that is a
// little behind finds it still.
const grace = 1000

// others is how many connections there are beside those of claims.
const others = 2

// New prepares a store. It does not speak to the server, which may be down.
func New(c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	s := &Store{
		client: client, config: c, prefix: c.Prefix, patience: &patience{base: c.Patience}, haunted: new(haunted), apart: new(apart), grace: grace, clock: func() string { return "" }, cluster: c.Cluster,
		others: make(chan struct{}, others),
		claims: newScript(bucketSource + leanSource() + common + claimSource), settles: newScript(common + settleSource),
		lends: newScript(loanSource + common + lendSource), swaps: newScript(swapSource),
	}
	s.group = newGroup(c.Connections, c.Queue, s.commit)
	return s, nil
}

// user is who asks, or "" for the server's default user.
func (s *Store) user() string {
	if s.config.Username != "" {
		return s.config.Username
	}
	if u, err := url.Parse(s.config.URL); err == nil {
		return u.User.Username()
	}
	return ""
}

// Connections is how many connections it makes at most, to each server.
func (s *Store) Connections() int { return s.config.Connections + others }

// Close ends the connections; calls that are under way fail.
func (s *Store) Close() error { return s.client.Close() }

// Claim decides a batch in one round trip, or fails when its budget is spent.
// A batch without a budget waits for as long as the context.
func (s *Store) Claim(ctx context.Context, b *store.Batch) error {
	if len(b.Grants) != len(b.Claims) {
		return fmt.Errorf("redisstore: claim: %d claims with room for %d grants", len(b.Claims), len(b.Grants))
	}
	if len(b.Claims) == 0 {
		return nil
	}
	if s.cluster && !oneOwner(b) {
		return s.claimApart(ctx, b)
	}
	return s.claim(ctx, b)
}

// claim decides a batch whose keys lie together.
func (s *Store) claim(ctx context.Context, b *store.Batch) error {
	j, err := s.encode(b)
	if err != nil {
		return fmt.Errorf("redisstore: claim: %w", err)
	}
	return s.group.ask(ctx, b, j)
}

// commit sends calls together, and gives back what came for nobody.
func (s *Store) commit(calls []*call) {
	ctx, cancel := s.patience.context()
	defer cancel()
	handed, ghosts := s.send(ctx, s.errands(calls))
	if len(handed) > 0 {
		_, more := s.send(ctx, oneEach(handed))
		ghosts = append(ghosts, more...)
	}
	if len(ghosts) > 0 {
		go s.reclaim(ghosts)
	}
}

// doubt makes the client of a cluster ask again who has which slots, when a call
// failed for another reason than its key's data. The client does so by itself
// once a second, and at most five times.
func (s *Store) doubt(err error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok || err == nil {
		return
	}
	if moved := strings.Contains(err.Error(), "MOVED "); moved || !errors.Is(err, store.ErrKey) {
		cluster.ReloadState(context.Background())
	}
}

// aside runs calls of a script that are no claims.
func (s *Store) aside(ctx context.Context, script *script, jobs []job) error {
	select {
	case s.others <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.others }()
	script.run(ctx, s.client, jobs)
	return nil
}

// wrap tells errors that are about one key from those that are about the store.
func wrap(operation string, err error) error {
	for _, about := range []string{"WRONGTYPE", "BADDATA", "CROSSSLOT", "MOVED ", "ASK ", "TRYAGAIN"} {
		if strings.Contains(err.Error(), about) {
			return fmt.Errorf("redisstore: %s: %w: %w", operation, store.ErrKey, err)
		}
	}
	if saysUnable(err) {
		return fmt.Errorf("redisstore: %s: %w: %w", operation, store.ErrUnable, err)
	}
	return fmt.Errorf("redisstore: %s: %w", operation, err)
}

// unable are the codes by which a server says that it decides nothing now.
var unable = []string{"READONLY", "LOADING", "BUSY", "OOM", "MASTERDOWN", "NOREPLICAS", "MISCONF", "NOAUTH", "NOPERM"}

// saysUnable reports whether an error is the server's own word on itself. A
// client that could not make a connection may put words before it.
func saysUnable(err error) bool {
	said, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	code, _, _ := strings.Cut(said.Error(), " ")
	return slices.Contains(unable, code)
}

var (
	errLate = fmt.Errorf("redisstore: claim: %w: no answer within the budget", store.ErrUnavailable)
	errFull = fmt.Errorf("redisstore: claim: %w: too many claims wait", store.ErrUnavailable)
)
