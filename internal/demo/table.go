package demo

import (
	"strings"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// stageColumns are the stages in their order, and what they are called in a
// narrow column.
var stageColumns = []struct{ stage, title string }{
	{"ratelimit", "rate"}, {"concurrency", "slots"}, {"fleetshed", "fleet"}, {"workershed", "worker"},
}

// widths of the table's columns, negative for figures; with its indent it fills
// a terminal of 80 columns.
var widths = []int{8, -8, -9, -6, -6, -6, -7, -6, -9, -6, -7}

// mostImportantFirst is the order in which a person reads the classes.
var mostImportantFirst = [priority.Count]priority.Class{priority.Critical, priority.High, priority.Normal, priority.Low}

// groups is the line above the titles: what each group of columns counts.
const groups = "              a second        refused a second                   answered"

// table renders what came of a phase so far, class by class.
func table(t *tally, c Colour) []string {
	lines := []string{c.ink(faint, groups), c.ink(faint, titles())}
	for _, class := range mostImportantFirst {
		lines = append(lines, tableRow(class.String(), t.class(class), t, c))
	}
	return append(lines, tableRow("all", &t.all, t, c))
}

func titles() string {
	fields := []string{"", "offered", "admitted"}
	for _, column := range stageColumns {
		fields = append(fields, column.title)
	}
	return row(append(fields, "late", "in time", "p50", "p99")...)
}

func tableRow(name string, cell *load.Cell, t *tally, c Colour) string {
	fields := []string{name, count(t.rate(cell.Offered)), count(t.rate(cell.Admitted()))}
	for _, column := range stageColumns {
		fields = append(fields, count(t.rate(cell.RefusedBy(column.stage))))
	}
	share := none
	if cell.Offered > 0 {
		share = c.ink(ofShare(cell.GoodShare()), percent(cell.GoodShare()))
	}
	return row(append(fields, count(t.rate(cell.Late)), share,
		millis(cell.Latency.Quantile(0.5)), millis(cell.Latency.Quantile(0.99)))...)
}

func row(fields ...string) string {
	var line strings.Builder
	for i, field := range fields {
		line.WriteString(pad(field, widths[i]))
	}
	return line.String()
}
