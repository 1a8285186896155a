package control

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
)

// state is what a storage keeps in one piece: the document, the end of the
// audit chain, and the idempotency keys of the last day.
type state struct {
	Document
	Seq  uint64 `json:"seq"`  // of the last record
	Head string `json:"head"` // its hash; the epoch before the first
	Keys []used `json:"keys"` // oldest first
}

// used is an idempotency key and what its change led to.
type used struct {
	Key    string    `json:"key"`   // with its actor
	Print  string    `json:"print"` // of the change
	At     time.Time `json:"at"`
	Result Result    `json:"result"`
}

// How long idempotency keys are remembered, and how many: then the oldest are
// forgotten.
const (
	keysFor = 24 * time.Hour
	maxKeys = 256
)

// keptFor is how long overrides that ended are listed.
const keptFor = time.Hour

// fresh is the state of a storage that was never written to.
func fresh() *state {
	epoch := rand.Text()[:12]
	return &state{Document: Document{Epoch: epoch, Version: 1}, Head: epoch}
}

func readState(stored []byte) (*state, error) {
	if len(stored) == 0 {
		return fresh(), nil
	}
	s := new(state)
	if err := json.Unmarshal(stored, s); err != nil {
		return nil, fmt.Errorf("control: the stored document cannot be read: %w", err)
	}
	if s.Version == 0 || s.Epoch == "" {
		return nil, fmt.Errorf("control: the stored document has no version or no epoch")
	}
	return s, nil
}

func (s *state) bytes() []byte {
	stored, err := json.Marshal(s)
	if err != nil {
		panic("control: a document does not encode: " + err.Error()) // it holds strings, times and checked numbers
	}
	return stored
}

// next is a copy that can be changed, without what time has made obsolete.
func (s *state) next(now time.Time) *state {
	n := *s
	n.Overrides, n.Keys = nil, nil
	for _, o := range s.Overrides {
		if now.Sub(o.ExpiresAt) < keptFor {
			n.Overrides = append(n.Overrides, o)
		}
	}
	for i, k := range s.Keys {
		if now.Sub(k.At) < keysFor && i >= len(s.Keys)-maxKeys+1 {
			n.Keys = append(n.Keys, k)
		}
	}
	return &n
}

func (s *state) key(key string) *used {
	for i := range s.Keys {
		if s.Keys[i].Key == key {
			return &s.Keys[i]
		}
	}
	return nil
}

// over is this document on top of the trail of another state of the storage.
func (s *state) over(stored *state) *state {
	n := *s
	n.Epoch, n.Seq, n.Head = stored.Epoch, stored.Seq, stored.Head
	return &n
}
