package control

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	ann = Actor{Name: "ann", Method: "token"}
	bob = Actor{Name: "bob", Method: "token"}
	eve = Actor{Name: "eve", Admin: true}
)

// shed is a proposal as a responder makes it.
func shed(below string) Override {
	return Override{What: Shed, Scope: Scope{Below: below}, Reason: "checkout is slow", Incident: "INC-1"}
}

func create(o Override, expect uint64) Change {
	return Change{Action: Create, Override: o, TTL: 30 * time.Minute, Expect: expect, Actor: ann}
}

func newControl(t *testing.T, c Config) *Control {
	t.Helper()
	if c.Storage == nil {
		c.Storage = &Memory{}
	}
	made, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (c *Control) must(t *testing.T, change Change) Result {
	t.Helper()
	r, err := c.Do(t.Context(), change)
	if err != nil {
		t.Fatalf("%s: %v", change.Action, err)
	}
	return r
}

func TestALife(t *testing.T) {
	c := newControl(t, Config{})
	made := c.must(t, create(shed("high"), 1))
	if made.Version != 2 || made.Seq != 1 || made.Override.Percent != 100 || made.Override.Author != "ann" {
		t.Errorf("%+v", made)
	}
	if got := made.Override.ExpiresAt.Sub(made.Override.Created); got != 30*time.Minute {
		t.Errorf("lasts %v", got)
	}
	longer := c.must(t, Change{Action: Extend, ID: made.Override.ID, TTL: time.Hour, Expect: 2, Actor: bob})
	if got := longer.Override.ExpiresAt.Sub(made.Override.Created); got < time.Hour || longer.Version != 3 {
		t.Errorf("lasts %v, version %d", got, longer.Version)
	}
	if s := c.State(); len(s.Active) != 1 || s.Document.Version != 3 || s.Active[0] != longer.Override {
		t.Errorf("%+v", s)
	}
	gone := c.must(t, Change{Action: Revoke, ID: made.Override.ID, Expect: 3, Actor: bob})
	if s := c.State(); len(s.Active) != 0 || s.Document.Version != 4 || gone.Override != longer.Override {
		t.Errorf("%+v", s)
	}
	back := c.must(t, Change{Action: Undo, Seq: 3, Expect: 4, Actor: ann})
	if s := c.State(); len(s.Active) != 1 || s.Active[0] != longer.Override || back.Version != 5 {
		t.Errorf("%+v", s)
	}
	records, err := c.Audit(t.Context(), 1, 10)
	if err != nil || len(records) != 4 {
		t.Fatalf("%v, %v", records, err)
	}
	for i, want := range []Action{Create, Extend, Revoke, Undo} {
		r := records[i]
		if r.Action != want || r.Outcome != Applied || r.Seq != uint64(i+1) || r.Version != uint64(i+2) || r.Incident != "INC-1" {
			t.Errorf("%+v", r)
		}
	}
	if v, err := c.Verify(t.Context()); err != nil || !v.OK() || v.Records != 4 || v.Last != 4 || v.Head != records[3].Hash {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestOfTwoWhoRaceOneIsStale(t *testing.T) {
	c := newControl(t, Config{})
	c.must(t, create(shed("high"), 1))
	_, err := c.Do(t.Context(), create(shed("normal"), 1))
	if stale, ok := errors.AsType[*StaleError](err); !ok || stale.Expected != 1 || stale.Version != 2 {
		t.Errorf("%v", err)
	}
	records, _ := c.Audit(t.Context(), 1, 10)
	if len(records) != 2 || records[1].Outcome != Stale || records[1].Version != 2 || records[1].After != nil {
		t.Errorf("%+v", records)
	}
	if s := c.State(); s.Document.Version != 2 || len(s.Document.Overrides) != 1 || s.Revision != 2 {
		t.Errorf("%+v", s)
	}
}

func TestARepeatedKeyIsOneChange(t *testing.T) {
	c := newControl(t, Config{})
	change := create(shed("high"), 1)
	change.Key = "k1"
	first := c.must(t, change)
	again := c.must(t, change)
	if !again.Replayed || again.Override != first.Override || again.Version != 2 || len(c.State().Active) != 1 {
		t.Errorf("%+v", again)
	}
	change.TTL = time.Hour
	_, err := c.Do(t.Context(), change)
	if _, ok := errors.AsType[*KeyReusedError](err); !ok {
		t.Errorf("%v", err)
	}
	change.Actor, change.Expect = bob, 2 // another person's key is another key
	if r := c.must(t, change); r.Replayed {
		t.Errorf("%+v", r)
	}
}

func TestEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var applied, sheds atomic.Int32
		c := newControl(t, Config{Apply: func(e Effects) (map[string]string, error) {
			applied.Add(1)
			sheds.Store(int32(len(e.Sheds)))
			return nil, nil
		}})
		go c.Run(t.Context())
		expect := func(when string, times, shed int32) {
			t.Helper()
			synctest.Wait()
			if applied.Load() != times || sheds.Load() != shed {
				t.Fatalf("%s: applied %d times, %d sheds; want %d, %d", when, applied.Load(), sheds.Load(), times, shed)
			}
		}
		expect("at first", 1, 0)
		c.must(t, create(shed("high"), 1))
		expect("created", 2, 1)
		time.Sleep(30*time.Minute - time.Nanosecond)
		expect("just before", 2, 1)
		time.Sleep(time.Nanosecond)
		expect("at the end", 3, 0)
	})
}

func TestGuardRails(t *testing.T) {
	c := newControl(t, Config{Policy: Policy{
		MaxTTL: time.Hour, Protected: []string{"high"}, ProtectedCallers: []string{"acme"}, TwoPersons: []Kind{Bypass},
	}})
	long := create(shed("high"), 1)
	long.TTL = 2 * time.Hour
	_, err := c.Do(t.Context(), long)
	if ttl, ok := errors.AsType[*TTLError](err); !ok || ttl.Longest != time.Hour {
		t.Errorf("%v", err)
	}
	if _, err = c.Do(t.Context(), create(shed("critical"), 1)); !isRefused(err) {
		t.Errorf("%v", err)
	}
	block := Override{What: Caller, Set: Block, Scope: Scope{Caller: "acme"}, Reason: "floods us"}
	if _, err = c.Do(t.Context(), create(block, 1)); !isRefused(err) {
		t.Errorf("%v", err)
	}
	admin := create(shed("critical"), 1)
	admin.Actor = eve
	c.must(t, admin)
	records, _ := c.Audit(t.Context(), 1, 10)
	if len(records) != 3 || records[0].Outcome != Refused || records[1].Outcome != Refused || !strings.Contains(records[0].Detail, "high is protected") {
		t.Errorf("%+v", records)
	}
}

func TestTwoPersons(t *testing.T) {
	c := newControl(t, Config{Policy: Policy{TwoPersons: []Kind{Bypass}}})
	made := c.must(t, create(Override{What: Bypass, Reason: "limits are wrong"}, 1))
	if !made.Override.Pending || len(c.State().Active) != 0 {
		t.Errorf("%+v", made)
	}
	approve := Change{Action: Approve, ID: made.Override.ID, Expect: 2, Actor: ann}
	_, err := c.Do(t.Context(), approve)
	if _, ok := errors.AsType[*SecondPersonError](err); !ok {
		t.Errorf("%v", err)
	}
	approve.Actor = bob
	if r := c.must(t, approve); r.Override.Pending || r.Override.Approver != "bob" || len(c.State().Active) != 1 {
		t.Errorf("%+v", r)
	}
}
