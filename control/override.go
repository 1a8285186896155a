package control

import "time"

// Kind says what an override is about. The empty kind is invalid.
type Kind string

// The kinds.
const (
	StageMode Kind = "stage-mode" // a stage off, in shadow, or enforced
	Shed      Kind = "shed"       // every class below one, wholly or some percent of its callers
	Caller    Kind = "caller"     // one caller blocked, exempt or rescaled
	Limit     Kind = "limit"      // one limit off, in shadow, enforced, rescaled, or set
	Reserve   Kind = "reserve"    // the fleet's reserve for critical traffic, or its declared capacity
	Pin       Kind = "pin"        // the level of a worker's controller held
	Bypass    Kind = "bypass"     // nothing is decided, everything is admitted
)

// Kinds are all of them, in the order of the documentation.
var Kinds = []Kind{StageMode, Shed, Caller, Limit, Reserve, Pin, Bypass}

// Setting is what an override sets its subject to. Which words are allowed
// depends on the kind; the empty word is the kind's only meaning.
type Setting string

// The settings.
const (
	Off      Setting = "off"      // stage-mode, limit: is not asked
	Shadow   Setting = "shadow"   // stage-mode, limit: refusals are counted, and requests go on
	Enforce  Setting = "enforce"  // stage-mode, limit: refusals count
	Scale    Setting = "scale"    // limit, caller: Value times what the configuration says, 0.001 … 1000
	Rate     Setting = "rate"     // limit of rate: Rate replaces the configured one, its burst in proportion
	Max      Setting = "max"      // limit of concurrency: Value requests in flight, 0 … 1,000,000
	Block    Setting = "block"    // caller: all its requests are refused, critical ones too
	Exempt   Setting = "exempt"   // caller: no limit that counts callers apart, and no shed, holds for it; the load shedders do
	Share    Setting = "share"    // reserve: Value is the share kept for critical traffic, 0 … 0.9
	Capacity Setting = "capacity" // reserve: Value is the fleet's capacity in requests in flight, 1 … 100,000,000
	Level    Setting = "level"    // pin: Value is the level: 0 drops nothing, 1 all of low, 2 normal too, 3 high too
)

// Scope says whom an override concerns. What is empty does not restrict. Which
// parts are allowed depends on the kind, and Worker always is.
type Scope struct {
	Stage  string `json:"stage,omitzero"`  // name of an entry of the plan; stage-mode, limit, pin
	Limit  string `json:"limit,omitzero"`  // name of a limit of that stage; limit
	Route  string `json:"route,omitzero"`  // a pattern, as in the configuration; shed
	Below  string `json:"below,omitzero"`  // every class less critical than this one, shed: normal, high or critical
	Caller string `json:"caller,omitzero"` // the caller's name, or id: and the 22 characters of its key (where the name is a credential); caller
	Worker string `json:"worker,omitzero"` // name of one worker; all kinds
}

// Override is one thing that people changed for a while. It is a value: two
// that are equal by == are the same, as long as their times are in UTC.
type Override struct {
	ID        string    `json:"id"`                  // drawn by the control when it is created
	What      Kind      `json:"what"`                // what it is about
	Scope     Scope     `json:"scope,omitzero"`      // whom it concerns
	Set       Setting   `json:"set,omitzero"`        // to what
	Value     float64   `json:"value,omitzero"`      // the number that Set needs
	Rate      string    `json:"rate,omitzero"`       // count/period, such as 50/s, when Set is rate
	Percent   int       `json:"percent,omitzero"`    // of callers, by whole cohorts, 1 … 100; shed alone. Default 100
	DryRun    bool      `json:"dry_run,omitzero"`    // shed and block are counted and refuse nobody; the others are only listed
	LocalOnly bool      `json:"local_only,omitzero"` // holds in one worker, and was never told to the fleet
	Reason    string    `json:"reason"`              // why, for people: 3 … 500 characters
	Incident  string    `json:"incident,omitzero"`   // an incident's name, up to 100 characters
	Author    string    `json:"author"`              // who created it
	Created   time.Time `json:"created"`             // by the storage's clock
	ExpiresAt time.Time `json:"expires_at"`          // when it ends by itself, by the storage's clock
	Pending   bool      `json:"pending,omitzero"`    // has no effect until another person approves it
	Approver  string    `json:"approver,omitzero"`   // who did
}

// Active reports whether it has an effect at a moment of its storage's clock.
func (o *Override) Active(now time.Time) bool { return !o.Pending && now.Before(o.ExpiresAt) }

// Document is all overrides of a fleet, or of one worker's own. It must not be
// changed.
type Document struct {
	Epoch     string     `json:"epoch"`     // drawn when the state was first made: a storage that lost everything has another
	Version   uint64     `json:"version"`   // 1 for a state that nobody changed, one more with each change
	Overrides []Override `json:"overrides"` // oldest first; those that ended are kept for an hour
}

// Find is the override of an id, or nil.
func (d *Document) Find(id string) *Override {
	for i := range d.Overrides {
		if d.Overrides[i].ID == id {
			return &d.Overrides[i]
		}
	}
	return nil
}
