package control

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Outcome is what became of a recorded attempt.
type Outcome string

// The outcomes.
const (
	Applied Outcome = "applied" // the document changed
	Stale   Outcome = "stale"   // the document was another than the actor saw, and did not change
	Refused Outcome = "refused" // guard rails forbade it
	Noted   Outcome = "noted"   // something beside the document
)

// Record is one entry of the audit trail.
type Record struct {
	Seq       uint64    `json:"seq"`                 // 1 for the first, without gaps
	Time      time.Time `json:"time"`                // by the storage's clock
	Actor     Actor     `json:"actor"`               // who
	Action    Action    `json:"action"`              // what was asked
	Outcome   Outcome   `json:"outcome"`             // what became of it
	Detail    string    `json:"detail,omitzero"`     // why it was refused, what was noted
	Subject   string    `json:"subject,omitzero"`    // the override's id, or what a note is about
	Before    *Override `json:"before,omitzero"`     // nil when there was none
	After     *Override `json:"after,omitzero"`      // nil when there is none any more
	Reason    string    `json:"reason,omitzero"`     // of the change, or of the override
	Incident  string    `json:"incident,omitzero"`   // of the override
	Version   uint64    `json:"version"`             // of the document after it
	RequestID string    `json:"request_id,omitzero"` // of the request that asked
	Key       string    `json:"key,omitzero"`        // idempotency key
	Previous  string    `json:"previous"`            // hash of the record before; of the first, the document's epoch
	Hash      string    `json:"hash,omitzero"`       // SHA-256 of the record as it is stored, in hexadecimal; not part of what is hashed
}

// A record is stored as its hash, a space, and the bytes that were hashed, so
// that no later encoder can make an honest record look tampered with.
const hashed = 2 * sha256.Size

// seal is the stored form of a record. It fills in the hash.
func (r *Record) seal() []byte {
	r.Hash = ""
	body, err := json.Marshal(r)
	if err != nil {
		panic("control: a record does not encode: " + err.Error()) // it holds strings, times and checked numbers
	}
	r.Hash = hashOf(body)
	return append([]byte(r.Hash+" "), body...)
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

var errAltered = errors.New("it was altered: its hash is not that of its content")

// open reads a stored record. It says so when the content is not what was
// sealed.
func open(stored []byte) (r Record, err error) {
	hash, body, ok := strings.Cut(string(stored), " ")
	if !ok || len(hash) != hashed {
		return r, errors.New("it does not begin with a hash")
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return r, fmt.Errorf("it cannot be read: %w", err)
	}
	r.Hash = hash
	if hashOf([]byte(body)) != hash {
		return r, errAltered
	}
	return r, nil
}

// Verification is what Verify found.
type Verification struct {
	Records uint64 `json:"records"`          // that were looked at
	First   uint64 `json:"first"`            // their first number: older ones were given up, see Storage
	Last    uint64 `json:"last"`             // their last number
	Head    string `json:"head"`             // hash of the last; note it elsewhere, and a trail made anew as a whole is found out, too
	Broken  uint64 `json:"broken,omitzero"`  // number of the first record that is not what it should be; 0 when all are
	Problem string `json:"problem,omitzero"` // what is wrong with it
}

// OK reports whether nothing is wrong.
func (v *Verification) OK() bool { return v.Problem == "" }

// chain checks stored records one after the other.
type chain struct {
	Verification
	previous string // what the next record must name; "" before the first, whose predecessor was given up
}

// add looks at the next stored record, and reports whether it is in order.
func (c *chain) add(stored []byte) bool {
	want := c.Last + 1
	r, err := open(stored)
	switch {
	case c.Records == 0 && err == nil:
		c.First, want = r.Seq, r.Seq
	case c.Records == 0:
		want = max(r.Seq, 1)
	}
	switch {
	case err != nil:
		return c.fail(want, err.Error())
	case r.Seq != want:
		return c.fail(want, fmt.Sprintf("record %d stands in its place: records were removed or moved", r.Seq))
	case c.previous != "" && r.Previous != c.previous:
		return c.fail(want, "it does not follow the record before it: that one was replaced")
	}
	c.Records++
	c.Last, c.Head, c.previous = r.Seq, r.Hash, r.Hash
	return true
}

func (c *chain) fail(seq uint64, problem string) bool {
	c.Broken, c.Problem = seq, problem
	return false
}

// end compares the last record with what the state says it is.
func (c *chain) end(s *state) {
	switch {
	case !c.OK():
	case c.Last < s.Seq:
		c.fail(c.Last+1, fmt.Sprintf("it is missing: the document says that there are %d records", s.Seq))
	case c.Last == s.Seq && c.Records > 0 && c.Head != s.Head:
		c.fail(c.Last, "it is not the record that the document names as the last")
	}
}
