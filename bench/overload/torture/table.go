package torture

import (
	"errors"
	"fmt"
	"strings"
)

// Cell is how one guard came through one check.
type Cell struct {
	Pass bool
	Why  string // it failed, or, when Pass is set, why the check does not apply
}

// Row is a check and how each guard came through it.
type Row struct {
	Check
	Cells map[string]Cell // by the subject's name
}

// Table is everything.
type Table []Row

// Run puts the subjects through the checks, one after the other.
func Run(subjects []Subject) Table {
	var table Table
	for _, check := range Checks() {
		row := Row{Check: check, Cells: map[string]Cell{}}
		for i := range subjects {
			row.Cells[subjects[i].Name] = try(&check, &subjects[i])
		}
		table = append(table, row)
	}
	return table
}

// try runs one check. What a guard leaves behind is its own: the next check
// makes another.
func try(c *Check, s *Subject) (cell Cell) {
	defer func() {
		if value := recover(); value != nil {
			cell = Cell{Why: fmt.Sprintf("it panics: %v", value)}
		}
	}()
	err := c.do(s)
	switch {
	case err == nil:
		return Cell{Pass: true}
	case errors.Is(err, errNoQueue), errors.Is(err, errNoRoom), errors.Is(err, errNoClock), errors.Is(err, errNoLimit):
		return Cell{Pass: true, Why: err.Error()}
	}
	return Cell{Why: err.Error()}
}

// Markdown is the table as a page: a column for each subject, and below it what
// went wrong, and what does not apply.
func (t Table) Markdown(subjects []Subject) string {
	var b, faults, absent strings.Builder
	b.WriteString("| |")
	for i := range subjects {
		fmt.Fprintf(&b, " %s |", subjects[i].Name)
	}
	b.WriteString("\n|---|" + strings.Repeat(":---:|", len(subjects)) + "\n")
	for _, row := range t {
		fmt.Fprintf(&b, "| **%s** %s |", row.Letter, row.Title)
		for i := range subjects {
			cell := row.Cells[subjects[i].Name]
			fmt.Fprintf(&b, " %s |", cell.word())
			switch line := fmt.Sprintf("- **%s** %s: %s.\n", row.Letter, subjects[i].Name, cell.Why); {
			case !cell.Pass:
				faults.WriteString(line)
			case cell.Why != "":
				absent.WriteString(line)
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nWhat failed:\n\n%s\nWhat does not apply:\n\n%s\nIn which form:\n\n", &faults, &absent)
	for i := range subjects {
		fmt.Fprintf(&b, "- %s: %s.\n", subjects[i].Name, subjects[i].Form)
	}
	return b.String()
}

func (c Cell) word() string {
	switch {
	case !c.Pass:
		return "**fail**"
	case c.Why != "":
		return "–"
	}
	return "pass"
}
