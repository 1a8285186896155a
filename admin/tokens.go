package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
)

// Token is somebody's key to this API, without the secret, of which only the
// hash is kept.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // of whoever holds it: the actor of the audit trail
	Role    Role      `json:"role"`
	Author  string    `json:"author"` // who made it
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Used is when it was last shown to this process; zero if it never was.
	Used time.Time `json:"used,omitzero"`
}

// stored is a token as it is kept.
type stored struct {
	Token
	Hash string `json:"hash"` // SHA-256 of the secret, which has 256 bits: a slow hash would protect nothing more
}

// Bounds on tokens.
const (
	MaxTokens       = 1000
	LongestToken    = 365 * 24 * time.Hour
	ShortestToken   = time.Minute
	DefaultTokenTTL = 90 * 24 * time.Hour
)

// tokenPrefix makes a leaked token findable.
const tokenPrefix = "plimsoll_"

// Tokens are the keys to this API. They live in a Storage, so that a fleet has
// one set of them. All methods may be called concurrently.
type Tokens struct {
	storage control.Storage
	now     func() time.Time

	mu       sync.Mutex
	tokens   []stored
	revision uint64
	read     time.Time
	used     map[string]time.Time
}

// NewTokens makes tokens of what a storage keeps. It reads nothing yet.
func NewTokens(s control.Storage) *Tokens {
	return &Tokens{storage: s, now: time.Now, used: map[string]time.Time{}}
}

// fresh is how long what was read of the storage is believed: a token that was
// revoked elsewhere works here for so long at most.
const fresh = time.Second

// Find is the token of a secret, if it is one of these and has not ended. When
// the storage cannot be read, what was read last holds.
func (t *Tokens) Find(ctx context.Context, secret string) (Token, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.refresh(ctx, fresh)
	sum := sha256.Sum256([]byte(secret))
	want := []byte(hex.EncodeToString(sum[:]))
	for i := range t.tokens {
		if subtle.ConstantTimeCompare([]byte(t.tokens[i].Hash), want) == 1 {
			token := t.tokens[i].Token
			if !t.now().Before(token.Expires) {
				return Token{}, false
			}
			t.used[token.ID] = t.now()
			return token, true
		}
	}
	return Token{}, false
}

// refresh reads the storage if what was read is older than that.
func (t *Tokens) refresh(ctx context.Context, than time.Duration) error {
	now := t.now()
	if !t.read.IsZero() && now.Sub(t.read) < than {
		return nil
	}
	state, revision, _, err := t.storage.Read(ctx)
	if err != nil {
		return fmt.Errorf("admin: tokens: %w", err)
	}
	var tokens []stored
	if len(state) > 0 {
		if err := json.Unmarshal(state, &tokens); err != nil {
			return fmt.Errorf("admin: the stored tokens cannot be read: %w", err)
		}
	}
	t.tokens, t.revision, t.read = tokens, revision, now
	return nil
}

// List is all tokens, oldest first, those that ended not included.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(ctx, 0); err != nil {
		return nil, err
	}
	list := []Token{}
	for i := range t.tokens {
		token := t.tokens[i].Token
		if t.now().Before(token.Expires) {
			token.Used = t.used[token.ID]
			list = append(list, token)
		}
	}
	return list, nil
}

// Errors of tokens.
var (
	ErrTokens  = fmt.Errorf("admin: there are %d tokens already, revoke some", MaxTokens)
	ErrNoToken = errors.New("admin: there is no such token")
	errRaced   = errors.New("admin: the tokens changed meanwhile, again and again")
)

// Create makes a token for a name. The secret is told here and never again. A
// TTL of 0 is DefaultTokenTTL.
func (t *Tokens) Create(ctx context.Context, author, name string, role Role, ttl time.Duration) (Token, string, error) {
	if ttl == 0 {
		ttl = DefaultTokenTTL
	}
	if ttl < ShortestToken || ttl > LongestToken {
		return Token{}, "", fmt.Errorf("admin: a token lasts %v … %v, got %v", ShortestToken, LongestToken, ttl)
	}
	if name == "" || len(name) > 100 || role == Nobody {
		return Token{}, "", errors.New("admin: a token needs a name of 1 … 100 bytes and a role")
	}
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	secret := tokenPrefix + base64.RawURLEncoding.EncodeToString(bits[:])
	sum := sha256.Sum256([]byte(secret))
	now := t.now().UTC().Truncate(time.Second)
	made := stored{Hash: hex.EncodeToString(sum[:]), Token: Token{
		ID: rand.Text()[:10], Name: name, Role: role, Author: author, Created: now, Expires: now.Add(ttl),
	}}
	err := t.change(ctx, func(tokens []stored) ([]stored, error) {
		if len(tokens) >= MaxTokens {
			return nil, ErrTokens
		}
		return append(tokens, made), nil
	})
	return made.Token, secret, err
}

// Revoke ends a token now.
func (t *Tokens) Revoke(ctx context.Context, id string) (revoked Token, err error) {
	err = t.change(ctx, func(tokens []stored) ([]stored, error) {
		i := slices.IndexFunc(tokens, func(s stored) bool { return s.ID == id })
		if i < 0 {
			return nil, ErrNoToken
		}
		revoked = tokens[i].Token
		return slices.Delete(tokens, i, i+1), nil
	})
	return revoked, err
}

// change replaces the tokens by others, made of what the storage has now. It
// drops those that ended.
func (t *Tokens) change(ctx context.Context, how func([]stored) ([]stored, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	const tries = 5
	for range tries {
		if err := t.refresh(ctx, 0); err != nil {
			return err
		}
		alive := slices.DeleteFunc(slices.Clone(t.tokens), func(s stored) bool { return !t.now().Before(s.Expires) })
		tokens, err := how(alive)
		if err != nil {
			return err
		}
		state, err := json.Marshal(tokens)
		if err != nil {
			return fmt.Errorf("admin: tokens: %w", err)
		}
		next := t.revision + 1
		swapped, err := t.storage.Swap(ctx, t.revision, next, state, []byte(strconv.FormatUint(next, 10)))
		if err != nil {
			return fmt.Errorf("admin: whether the tokens changed is not known, list them: %w", err)
		}
		if swapped {
			t.tokens, t.revision, t.read = tokens, next, t.now()
			return nil
		}
	}
	return errRaced
}
