package store

import (
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

// A refusal that is answered from memory says what is left, as the store did.
func TestARememberedRefusalSaysWhatIsLeft(t *testing.T) {
	l, err := NewTokens("api", TokenBucket, limit.Per(10, time.Second), 20)
	if err != nil {
		t.Fatal(err)
	}
	owner := KeyOf("someone")
	now := int64(time.Hour)
	for left := range int64(20) {
		d := newDenials()
		wait := time.Duration(20-left) * 100 * time.Millisecond
		d.remember(&Claim{Owner: owner, Limit: l, Cost: 20}, &Grant{Remaining: left, RetryAfter: wait}, now)
		for _, later := range []int64{0, 1, int64(100*time.Millisecond) - 1} {
			if g, denied := d.find(owner, l, 20, now+later); !denied || g.Remaining != left {
				t.Errorf("with %d left, %dns later: %d, denied %v", left, later, g.Remaining, denied)
			}
		}
	}
}
