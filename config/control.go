package config

import (
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// Control sets what people may change for a while, without a change of the
// file.
type Control struct {
	// The directory in which overrides and their audit trail are kept, and
	// nothing else; others must not be able to write to it. Where the store is
	// redis, the fleet's are kept there, and here are those of this worker alone.
	Dir string `yaml:"dir" absent:"plimsoll run takes $STATE_DIRECTORY/control, or plimsoll/control in the user's state directory; else they end with the process" example:"/var/lib/plimsoll/control"`
	// How long an override may last from when it is made or prolonged.
	// Administrators may go up to 168h.
	MaxTTL time.Duration `yaml:"max_ttl" default:"24h" range:"1m..168h"`
	// The same for a bypass of all stages, whoever asks for it.
	MaxBypass time.Duration `yaml:"max_bypass" default:"1h" range:"1m..168h"`
	// The classes that only administrators may shed. Critical is never shed.
	ProtectedClasses []priority.Class `yaml:"protected_classes" items:"0..4" default:"[]" example:"[high]"`
	// The callers that only administrators may block or rescale.
	ProtectedCallers []Caller `yaml:"protected_callers" items:"0..1000" default:"[]" example:"[checkout]"`
	// The kinds of overrides that have no effect before another person than
	// their author approves.
	TwoPersons []OverrideKind `yaml:"two_persons" items:"0..7" default:"[]" example:"[bypass]"`
}

// OverrideKind names a kind of override, as package control does.
type OverrideKind string

// The kinds.
const (
	OverrideStageMode OverrideKind = "stage-mode" // a stage off, in shadow, or enforced
	OverrideShed      OverrideKind = "shed"       // every class below one
	OverrideCaller    OverrideKind = "caller"     // one caller blocked, exempt or rescaled
	OverrideLimit     OverrideKind = "limit"      // one limit off, in shadow, enforced, rescaled or set
	OverrideReserve   OverrideKind = "reserve"    // the fleet's reserve or its declared capacity
	OverridePin       OverrideKind = "pin"        // the level of a worker's stage held
	OverrideBypass    OverrideKind = "bypass"     // nothing is decided
)
