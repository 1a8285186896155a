package admin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/control"
)

// clocked is tokens with a clock of their own.
func clocked(s control.Storage) (*Tokens, *time.Time) {
	t, now := NewTokens(s), new(time.Now())
	t.now = func() time.Time { return *now }
	return t, now
}

func TestATokenEnds(t *testing.T) {
	tokens, now := clocked(&control.Memory{})
	made, secret, err := tokens.Create(t.Context(), "me", "ci", Viewer, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := tokens.Find(t.Context(), secret); !ok || got.Name != "ci" || got.Role != Viewer || got.Author != "me" {
		t.Errorf("found %+v", got)
	}
	if list, _ := tokens.List(t.Context()); len(list) != 1 || list[0].Used.IsZero() {
		t.Errorf("listed %+v", list)
	}
	*now = made.Expires.Add(-time.Nanosecond)
	if _, ok := tokens.Find(t.Context(), secret); !ok {
		t.Error("it ended early")
	}
	*now = made.Expires
	if _, ok := tokens.Find(t.Context(), secret); ok {
		t.Error("it did not end")
	}
	if list, _ := tokens.List(t.Context()); len(list) != 0 {
		t.Errorf("listed %+v", list)
	}
}

func TestARevokedTokenEndsEverywhere(t *testing.T) {
	storage := &control.Memory{}
	here, _ := clocked(storage)
	elsewhere, now := clocked(storage)
	made, secret, err := here.Create(t.Context(), "me", "ci", Admin, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := elsewhere.Find(t.Context(), secret); !ok {
		t.Fatal("another process does not know it")
	}
	if _, err := here.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := here.Find(t.Context(), secret); ok {
		t.Error("it works where it was revoked")
	}
	*now = now.Add(fresh)
	if _, ok := elsewhere.Find(t.Context(), secret); ok {
		t.Error("it works elsewhere, after the time that is promised")
	}
	if _, err := here.Revoke(t.Context(), made.ID); !errors.Is(err, ErrNoToken) {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestOnlyHashesAreStored(t *testing.T) {
	storage := &control.Memory{}
	tokens, _ := clocked(storage)
	_, secret, err := tokens.Create(t.Context(), "me", "ci", Admin, 0)
	if err != nil {
		t.Fatal(err)
	}
	state, revision, _, err := storage.Read(t.Context())
	if err != nil || revision != 1 {
		t.Fatal(revision, err)
	}
	if strings.Contains(string(state), secret) || strings.Contains(string(state), strings.TrimPrefix(secret, tokenPrefix)) {
		t.Errorf("stored: %s", state)
	}
	if _, ok := tokens.Find(t.Context(), ""); ok {
		t.Error("no secret is one")
	}
	if _, ok := tokens.Find(t.Context(), secret[:len(secret)-1]); ok {
		t.Error("a part of the secret is enough")
	}
}

func TestTokensHaveBounds(t *testing.T) {
	tokens, _ := clocked(&control.Memory{})
	for _, c := range []struct {
		name string
		role Role
		ttl  time.Duration
	}{
		{"", Viewer, time.Hour}, {strings.Repeat("x", 101), Viewer, time.Hour}, {"x", Nobody, time.Hour},
		{"x", Viewer, time.Second}, {"x", Viewer, LongestToken + 1}, {"x", Viewer, -1},
	} {
		if made, _, err := tokens.Create(t.Context(), "me", c.name, c.role, c.ttl); err == nil || made.ID != "" {
			t.Errorf("%+v was made", c)
		}
	}
	tokens.tokens = make([]stored, MaxTokens)
	for i := range tokens.tokens {
		tokens.tokens[i].Expires = time.Now().Add(time.Hour)
	}
	if err := tokens.change(t.Context(), func(list []stored) ([]stored, error) { return list, nil }); err != nil {
		t.Fatal(err)
	}
}

// The storage is gone: what was read last holds, and a change says that it is
// not known.
func TestTokensWithoutTheirStorage(t *testing.T) {
	storage := &flaky{Storage: &control.Memory{}}
	tokens, now := clocked(storage)
	_, secret, err := tokens.Create(t.Context(), "me", "ci", Viewer, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	storage.lose.Store(true)
	*now = now.Add(time.Minute)
	if _, ok := tokens.Find(t.Context(), secret); !ok {
		t.Error("it is not known any more")
	}
	if _, _, err := tokens.Create(t.Context(), "me", "x", Viewer, 0); !errors.Is(err, errLost) {
		t.Errorf("made without a storage: %v", err)
	}
}
