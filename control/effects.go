package control

// Effects is what the overrides that hold for one worker now amount to: what a
// plan is to be made of, instead of overrides. Where several concern the same
// thing, the one created last holds; sheds add up. It must not be changed.
type Effects struct {
	Version                       uint64                    // of the fleet's document
	Local                         uint64                    // version of the worker's own
	Bypass                        string                    // the override that bypasses all; "" when none does
	Modes                         map[string]ModeEffect     // by name of the stage
	Limits                        map[LimitName]LimitEffect // by limit
	Sheds                         []ShedEffect              // oldest first
	Callers                       map[string]CallerEffect   // by caller, as the scope names it
	Reserve, Capacity, DefaultPin Number                    // DefaultPin is for the stage that the plan has, whatever its name
	Pins                          map[string]Number         // by name of the stage
}

// Number is a value and the override that set it; no override set the zero
// Number.
type Number struct {
	ID    string
	Value float64
}

// Set reports whether an override set it.
func (n Number) Set() bool { return n.ID != "" }

// ModeEffect is the mode of a stage.
type ModeEffect struct {
	ID   string
	Mode Setting // off, shadow or enforce
}

// LimitName names a limit of a stage.
type LimitName struct{ Stage, Limit string }

// LimitEffect is what becomes of a limit. Its mode and its numbers come from
// different overrides.
type LimitEffect struct {
	ModeID   string
	Mode     Setting // off, shadow, enforce, or "" to leave it
	NumberID string
	Set      Setting // scale, rate, max, or "" to leave it
	Value    float64
	Rate     string
}

// ShedEffect is a shed.
type ShedEffect struct {
	ID      string
	Route   string // "" is every route
	Below   string
	Percent int
	DryRun  bool
}

// CallerEffect is what becomes of a caller.
type CallerEffect struct {
	ID     string
	Set    Setting // block, exempt or scale
	Value  float64
	DryRun bool
}

// Compile is what overrides, all of which are active, amount to for a worker.
// Their order is that of their creation.
func Compile(active []Override, worker string) Effects {
	e := Effects{
		Modes: map[string]ModeEffect{}, Limits: map[LimitName]LimitEffect{},
		Callers: map[string]CallerEffect{}, Pins: map[string]Number{},
	}
	for i := range active {
		o := &active[i]
		if o.Scope.Worker != "" && o.Scope.Worker != worker {
			continue
		}
		if !o.DryRun || o.What == Shed || o.What == Caller {
			e.add(o)
		}
	}
	return e
}

func (e *Effects) add(o *Override) {
	switch o.What {
	case Bypass:
		e.Bypass = o.ID
	case StageMode:
		e.Modes[o.Scope.Stage] = ModeEffect{o.ID, o.Set}
	case Limit:
		e.limit(o)
	case Shed:
		e.Sheds = append(e.Sheds, ShedEffect{o.ID, o.Scope.Route, o.Scope.Below, o.Percent, o.DryRun})
	case Caller:
		e.caller(o)
	case Reserve:
		if o.Set == Capacity {
			e.Capacity = Number{o.ID, o.Value}
		} else {
			e.Reserve = Number{o.ID, o.Value}
		}
	case Pin:
		if o.Scope.Stage == "" {
			e.DefaultPin = Number{o.ID, o.Value}
		} else {
			e.Pins[o.Scope.Stage] = Number{o.ID, o.Value}
		}
	}
}

func (e *Effects) limit(o *Override) {
	name := LimitName{o.Scope.Stage, o.Scope.Limit}
	l := e.Limits[name]
	switch o.Set {
	case Off, Shadow, Enforce:
		l.ModeID, l.Mode = o.ID, o.Set
	default:
		l.NumberID, l.Set, l.Value, l.Rate = o.ID, o.Set, o.Value, o.Rate
	}
	e.Limits[name] = l
}

// caller lets what a dry run would do to a caller not replace what is done.
func (e *Effects) caller(o *Override) {
	if before, ok := e.Callers[o.Scope.Caller]; ok && o.DryRun && !before.DryRun {
		return
	}
	e.Callers[o.Scope.Caller] = CallerEffect{o.ID, o.Set, o.Value, o.DryRun}
}
