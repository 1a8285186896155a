package operator

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/priority"
)

// shares is what would have become of some requests, in columns.
func shares(head string, list []insight.Share) string {
	t := newTable(head, "CAME", "REFUSED", "MORE", "FEWER", "MORE OF CAME")
	for _, s := range list {
		t.row(Clip(s.Name, 30), count(s.Offered), count(s.Refused), count(s.Would), count(s.Released), percent(s.Would, s.Offered))
	}
	return t.String()
}

// Why tells what became of one request.
func Why(d *admin.Decided) string {
	var text strings.Builder
	verdict := "admitted"
	if !d.Admitted {
		verdict = "refused: " + d.Reason + " by " + d.Stage
	}
	if d.Shadow {
		verdict += fmt.Sprintf("; %s in shadow would have refused it: %s", d.Stage, d.Reason)
	}
	fmt.Fprintf(&text, "%s\nat %s, %s %s\ncaller %s (id:%s)\nclass %s, cohort %d of %d\n",
		Clean(verdict), d.At.Format("2006-01-02 15:04:05.000Z"), Clean(d.Method), Clip(Clean(d.Route), 40),
		Clip(Clean(d.Caller), 40), Clean(d.CallerID), d.Class, d.Cohort, priority.Cohorts)
	if d.Limit != "" {
		fmt.Fprintf(&text, "by %s: %d left", Clean(d.Limit), d.Remaining)
		if d.RetryAfter > 0 {
			fmt.Fprintf(&text, ", worth another try after %v", time.Duration(d.RetryAfter)*time.Millisecond)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// Refusals lists the last refusals, newest first.
func Refusals(list []admin.Decided) string {
	t := newTable("AT", "REASON", "CLASS", "ID")
	for _, d := range list {
		t.row(d.At.Format("15:04:05"), d.Reason, d.Class, d.ID)
		t.row("", Clip(d.Caller, 17), "", Clip(d.Method+" "+d.Route, 32))
	}
	return t.String()
}

// Holders lists requests in flight, oldest first.
func Holders(list []admin.Held) string {
	t := newTable("FOR", "CLASS", "STATE", "ID")
	for _, h := range list {
		state := ""
		for _, s := range []struct {
			is   bool
			word string
		}{{h.Left, "client left"}, {h.Overdue, "overdue"}, {h.Detached, "stream"}} {
			if s.is {
				state = strings.TrimPrefix(state+", "+s.word, ", ")
			}
		}
		t.row(span(time.Duration(h.Seconds*float64(time.Second))), h.Class, Clip(state, 20), h.ID)
		t.row("", "", Clip(h.Caller, 20), Clip(h.Route, 32))
	}
	return t.String()
}

// Records lists the audit trail.
func Records(list []control.Record) string {
	t := newTable("SEQ", "AT", "WHO", "DID", "WHAT")
	for i := range list {
		r := &list[i]
		t.wrapped(30, r.Seq, r.Time.UTC().Format("01-02 15:04:05"), Clip(r.Actor.Name, 12), did(r), Clip(about(r), 200))
	}
	return t.String()
}

func did(r *control.Record) string {
	if r.Outcome == control.Applied || r.Outcome == control.Noted {
		return string(r.Action)
	}
	return fmt.Sprintf("%s: %s", r.Action, r.Outcome)
}

// about is what a record is about: the override, or the note.
func about(r *control.Record) string {
	switch {
	case r.Detail != "":
		return strings.TrimSpace(r.Subject + " " + r.Detail)
	case r.After != nil:
		return r.Subject + " " + Describe(r.After)
	case r.Before != nil:
		return r.Subject + " " + Describe(r.Before)
	}
	return r.Subject
}

// Verified says what a verification found.
func Verified(v *control.Verification) string {
	if v.Records == 0 && v.OK() {
		return "the trail is empty\n"
	}
	if !v.OK() {
		return fmt.Sprintf("broken at record %d: %s\nthe %d records before it are in order\n", v.Broken, Clean(v.Problem), v.Records)
	}
	return fmt.Sprintf("%d records, %d to %d, follow one another\nhead %s\n", v.Records, v.First, v.Last, v.Head)
}

// Tokens lists the keys to the API.
func Tokens(list []admin.Token, now time.Time) string {
	t := newTable("ID", "NAME", "ROLE", "ENDS IN", "MADE BY", "LAST USED")
	for _, k := range list {
		used := "-"
		if !k.Used.IsZero() {
			used = span(now.Sub(k.Used)) + " ago"
		}
		t.row(k.ID, Clip(k.Name, 20), k.Role, span(k.Expires.Sub(now)), Clip(k.Author, 14), used)
	}
	return t.String()
}

// Explanation shows what would become of a request, stage by stage.
func Explanation(x *admin.Explained) string {
	var text strings.Builder
	switch {
	case x.Exempt:
		text.WriteString("would be served: the request is exempt, no stage would see it\n")
	case x.Admitted:
		text.WriteString("would be served\n")
	default:
		fmt.Fprintf(&text, "would be refused: %s by %s, %s%s\n", x.Reason, Clean(x.Stage), Clean(x.Limit), again(x.RetryAfter))
	}
	if x.Bypass != "" {
		fmt.Fprintf(&text, "override %s bypasses every stage\n", x.Bypass)
	}
	fmt.Fprintf(&text, "caller %s (id:%s)\nclass %s, cohort %d of %d, route %s\n\n", Clip(Clean(x.Caller), 40), x.CallerID, x.Class, x.Cohort, priority.Cohorts, Clip(Clean(x.Route), 40))
	t := newTable("STAGE", "MODE", "ANSWER", "MARGIN")
	for i := range x.Stages {
		stageRows(t, &x.Stages[i])
	}
	return text.String() + t.String()
}

// again says when to come back.
func again(ms int64) string {
	switch {
	case ms < 0:
		return ", and waiting does not help"
	case ms > 0:
		return fmt.Sprintf(", again in %v", time.Duration(ms)*time.Millisecond)
	}
	return ""
}

// stageRows are one stage's lines: its answer, then each limit's.
func stageRows(t *table, a *admin.Answer) {
	var lines []string
	if a.Answer == "refuse" && len(a.Limits) == 0 {
		lines = append(lines, strings.TrimSuffix(a.Reason+" by "+a.Limit, " by ")+again(a.RetryAfter))
	}
	if a.Of > 0 {
		lines = append(lines, fmt.Sprintf("room for %d of %d", a.Left, a.Of))
	}
	for _, m := range a.Limits {
		line := fmt.Sprintf("%s: %d of %d left", m.Limit, m.Left, m.Of)
		if m.Rate != "" {
			line += " at " + m.Rate
		}
		if !m.Granted {
			line += ", not enough for " + fmt.Sprint(m.Cost) + again(m.RetryAfter)
		}
		lines = append(lines, line)
	}
	if a.Fault != "" {
		lines = append(lines, "could not decide: "+Clip(a.Fault, 60))
	}
	if len(a.Overrides) > 0 {
		lines = append(lines, "by override "+strings.Join(a.Overrides, ", "))
	}
	first := ""
	if len(lines) > 0 {
		first = lines[0]
	}
	t.wrapped(beside-1, Clip(a.Stage, 18), a.Mode, a.Answer, first)
	for _, line := range lines[min(1, len(lines)):] {
		t.wrapped(beside-1, "", "", "", line)
	}
}
