package process

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// access makes what changes things, and whose keys it takes.
func (p *Process) access(live *config.Live) (*admin.API, error) {
	storage, err := p.tokenStorage(live)
	if err != nil {
		return nil, err
	}
	brake, err := newBrake()
	if err != nil {
		return nil, err
	}
	return &admin.API{
		Control: p.control, Tokens: admin.NewTokens(storage), Brake: brake, Certificates: certificates(p.began.Admin.Certificates),
		Profiling: p.began.Admin.Profiling,
		Insight:   p.insight, Timeline: p.Timeline, Holders: p.pipeline.Holders, Status: p.Status, Live: func() any { return p.Status() },
		Explain: p.explain,
	}, nil
}

// explain says what would become of a request.
func (p *Process) explain(q *pipeline.Request, r *http.Request) (x pipeline.Explanation, seen bool) {
	seen = p.middleware.Describe(q, r)
	return p.pipeline.Explain(r.Context(), q), seen
}

// tokenStorage keeps the keys where the overrides are kept.
func (p *Process) tokenStorage(live *config.Live) (control.Storage, error) {
	if redis := live.Redis(); redis != nil {
		return redis.Tokens(), nil
	}
	if p.files == nil {
		return &control.Memory{}, nil
	}
	files, err := control.OpenFile(control.FileConfig{Dir: p.stateDir() + "-tokens", Log: p.log})
	if err != nil {
		return nil, fmt.Errorf("process: tokens: %w", err)
	}
	p.tokenFiles = files
	return files, nil
}

// stateDir is the directory of the control's state; "" without one.
func (p *Process) stateDir() string { return cmp.Or(p.began.Control.Dir, p.config.StateDir) }

// certificates gives roles to URIs of client certificates.
func certificates(list []config.AdminCertificate) func(*x509.Certificate) (string, admin.Role) {
	if len(list) == 0 {
		return nil
	}
	roles := map[string]admin.Role{}
	for _, c := range list {
		roles[c.URI], _ = admin.ParseRole(string(c.Role)) // the configuration knows the same words
	}
	return func(c *x509.Certificate) (string, admin.Role) {
		for _, uri := range c.URIs {
			if role := roles[uri.String()]; role != admin.Nobody {
				return uri.String(), role
			}
		}
		return "", admin.Nobody
	}
}

// TokenFile is the file, beside a directory of control state, that has the
// token of the first start on a machine: the command finds it there by itself.
func TokenFile(stateDir string) string { return filepath.Join(filepath.Dir(stateDir), "admin-token") }

// welcome greets, again and again until the store has said whether there is a
// token.
func (p *Process) welcome(ctx context.Context, group *sync.WaitGroup, api *admin.API) {
	err := p.greet(ctx, api)
	if err == nil {
		return
	}
	p.log.Warn("whether the API has a token is not known yet; it is asked again", "error", err)
	group.Go(func() {
		again := time.NewTicker(time.Second)
		defer again.Stop()
		for err != nil {
			select {
			case <-again.C:
				err = p.greet(ctx, api)
			case <-ctx.Done():
				return
			}
		}
	})
}

// greet makes a first token when there is none, prints it once, and stores it
// where only this user can read it.
func (p *Process) greet(ctx context.Context, api *admin.API) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	tokens, err := api.Tokens.List(ctx)
	if err != nil || len(tokens) > 0 {
		return err
	}
	token, secret, err := api.Tokens.Create(ctx, "first start", "first", admin.Admin, 0)
	if err != nil {
		return fmt.Errorf("process: the first token: %w", err)
	}
	kept := ""
	if dir := p.stateDir(); dir != "" && p.files != nil {
		if err := keep(TokenFile(dir), secret); err != nil {
			p.log.Warn("the first token is not kept", "error", err)
		} else {
			kept = ", kept in " + TokenFile(dir) + " for the commands of this user"
		}
	}
	p.say(fmt.Sprintf("first token for the API, shown once, until %s%s:", token.Expires.Format(time.DateOnly), kept))
	p.say("  " + secret)
	return nil
}

// keep writes a secret to a file that nobody else can read, also when there is
// one of another mode.
func keep(path, secret string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, []byte(secret+"\n"), 0o600)
}

// Bounds on failed attempts to be somebody.
const (
	failuresOfOne = 10
	failuresOfAll = 100
	triers        = 10_000 // sources that are told apart
)

// brake counts failed attempts with our own limiter, on a store of its own, so
// that the fleet's being down opens no door.
type brake struct {
	one, all *ratelimit.Limiter
}

func newBrake() (*brake, error) {
	table, err := memstore.New(memstore.Config{MaxKeys: triers})
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	guard := store.NewGuard(table, store.GuardConfig{})
	limiter := func(name string, failures int64) (*ratelimit.Limiter, error) {
		return ratelimit.NewLimiter(ratelimit.LimiterConfig{Limits: []ratelimit.Limit{{
			Name: name, Rate: limit.Per(failures, time.Minute), Burst: failures,
		}}}, guard)
	}
	one, err1 := limiter("failures-of-one", failuresOfOne)
	all, err2 := limiter("failures-of-all", failuresOfAll)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	return &brake{one, all}, nil
}

// everybody is the key of what all sources share.
const everybody = "everybody"

// Wait is how long a source has to wait before it may try again.
func (b *brake) Wait(source string) time.Duration {
	return max(wait(b.one, source), wait(b.all, everybody))
}

func wait(l *ratelimit.Limiter, key string) time.Duration {
	answer, err := l.Peek(context.Background(), key, 1)
	if err != nil || answer.Allowed {
		return 0
	}
	return answer.RetryAfter
}

// Failed counts a failure, and reports whether it was the last that is borne.
func (b *brake) Failed(source string) bool {
	before := b.Wait(source)
	_, _ = b.one.Take(context.Background(), source, 1)
	_, _ = b.all.Take(context.Background(), everybody, 1)
	return before == 0 && b.Wait(source) > 0
}
