package operator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
)

// Describe says what an override does, in a few words.
func Describe(o *control.Override) string {
	words := effect(o)
	if o.DryRun {
		words = "dry run: " + words
	}
	for _, part := range []struct{ format, value string }{{", on %s", o.Scope.Route}, {", in worker %s alone", o.Scope.Worker}} {
		if part.value != "" {
			words += fmt.Sprintf(part.format, part.value)
		}
	}
	if o.LocalOnly {
		words += ", of this worker alone"
	}
	return Clean(words)
}

func effect(o *control.Override) string {
	s := &o.Scope
	switch o.What {
	case control.Shed:
		if o.Percent == 0 || o.Percent == 100 {
			return "shed all below " + s.Below
		}
		return fmt.Sprintf("shed %d%% of callers below %s", o.Percent, s.Below)
	case control.StageMode:
		return fmt.Sprintf("stage %s: %s", s.Stage, o.Set)
	case control.Caller:
		return fmt.Sprintf("caller %s: %s", s.Caller, setting(o))
	case control.Limit:
		return fmt.Sprintf("limit %s of %s: %s", s.Limit, s.Stage, setting(o))
	case control.Reserve:
		if o.Set == control.Share {
			return fmt.Sprintf("fleet's reserve: %g of its capacity", o.Value)
		}
		return fmt.Sprintf("fleet's %s: %g", o.Set, o.Value)
	case control.Pin:
		return strings.TrimSpace(fmt.Sprintf("pin level %.2f %s", o.Value, s.Stage))
	case control.Bypass:
		return "bypass: nothing is decided"
	}
	return string(o.What)
}

// setting is a setting with its number.
func setting(o *control.Override) string {
	switch o.Set {
	case control.Scale:
		return fmt.Sprintf("× %g", o.Value)
	case control.Rate:
		return o.Rate
	case control.Max:
		return fmt.Sprintf("max %g", o.Value)
	default:
		return string(o.Set)
	}
}

// InForce are the overrides that hold or wait at a moment, the fleet's first.
func InForce(o *admin.Overrides, now time.Time) []control.Override {
	return slices.DeleteFunc(slices.Concat(o.Overrides, o.Local), func(o control.Override) bool { return !now.Before(o.ExpiresAt) })
}

// Table lists overrides with the time that each has left.
func Table(o *admin.Overrides, now time.Time) string {
	var text strings.Builder
	list := InForce(o, now)
	if len(list) == 0 {
		text.WriteString("no overrides are in force\n")
	} else {
		t := newTable("ID", "ENDS IN", "BY", "WHAT")
		unmet := map[string]string{}
		for _, u := range o.Unmet {
			unmet[u.ID] = u.Why
		}
		for i := range list {
			rows(t, &list[i], unmet[list[i].ID], now)
		}
		text.WriteString(t.String())
	}
	for _, fault := range []struct{ text, what string }{
		{o.Error, "the storage does not answer, what is known holds until it ends: "}, {o.Fault, "the last change could not be applied here, what held before goes on: "},
	} {
		if fault.text != "" {
			text.WriteString(Clean(fault.what+strings.TrimPrefix(fault.text, "control: ")) + "\n")
		}
	}
	return text.String()
}

// beside is the width that the other columns leave of 80.
const beside = 41

// rows are an override's lines: what it does, why, and what is wrong with it.
func rows(t *table, o *control.Override, unmet string, now time.Time) {
	t.wrapped(beside, o.ID, span(o.ExpiresAt.Sub(now)), Clip(o.Author, 12), Describe(o))
	why := o.Reason
	if o.Incident != "" && !strings.HasPrefix(why, o.Incident) {
		why = o.Incident + ": " + why
	}
	t.wrapped(beside, "", "", "", Clip(why, 3*beside))
	if o.Pending {
		t.wrapped(beside, "", "", "", "waits: plimsoll approve "+o.ID)
	}
	if unmet != "" {
		t.wrapped(beside, "", "", "", "no effect here: "+Clip(unmet, 3*beside))
	}
}

// Done says what a change did.
func Done(action control.Action, r *control.Result, now time.Time) string {
	o := &r.Override
	text := fmt.Sprintf("%s  %s\n", o.ID, Describe(o))
	switch {
	case action == control.Revoke:
		text += "ended"
	case action == control.Undo:
		text += "taken back: plimsoll overrides shows what holds now"
	case o.Pending:
		text += "waits for another person: plimsoll approve " + o.ID
	default:
		text += fmt.Sprintf("in force until %s (%s)", o.ExpiresAt.UTC().Format("15:04:05Z"), span(o.ExpiresAt.Sub(now)))
	}
	if action != control.Undo {
		text += fmt.Sprintf("; plimsoll undo %d takes it back", r.Seq)
		if o.LocalOnly {
			text += ", with --local"
		}
	}
	if r.Replayed {
		text += "; it had been made before"
	}
	return text + "\n"
}

// Foretold shows a preview: what it would do, and to whom.
func Foretold(p *control.Preview) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, for %s\n", Describe(&p.Override), span(p.Override.ExpiresAt.Sub(p.Override.Created)))
	if p.Pending {
		text.WriteString("it waits until another person approves it\n")
	}
	if p.Unmet != "" {
		fmt.Fprintf(&text, "no effect in this worker: %s\n", Clean(p.Unmet))
	}
	if len(p.Replaces) > 0 {
		fmt.Fprintf(&text, "goes above %s\n", strings.Join(p.Replaces, ", "))
	}
	if !p.Past.Known {
		fmt.Fprintf(&text, "%s\n", Clean(p.Past.Note))
		return text.String()
	}
	a := &p.Past
	fmt.Fprintf(&text, "of the last %s in this worker: %s came, %s were refused,\n%s more would be, %s fewer\n",
		span(a.To.Sub(a.From)), count(a.Offered), count(a.Refused), count(a.Would), count(a.Released))
	if a.Would+a.Released > 0 {
		text.WriteString("\n" + shares("CLASS", a.Classes) + "\n" + shares("ROUTE", few(a.Routes)) + "\n" + shares("CALLER", few(a.Callers)))
	}
	return text.String()
}

func few[T any](list []T) []T { return list[:min(len(list), 5)] }
