package observe

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/observability"
)

var pictures = flag.String("pictures", "", "write the pictures of the dashboards to this folder")

// draw writes the pictures of what a server saw, and holds them to be XML.
func draw(ctx context.Context, t *testing.T, server *Prometheus, story *Story) {
	t.Helper()
	for _, d := range observability.Dashboards() {
		readings := map[string][]Reading{}
		for panel := range d.Panels() {
			var err error
			if readings[panel.Title], err = server.Read(ctx, panel, story.From, story.To); err != nil {
				t.Fatal(err)
			}
		}
		picture := Draw(&d, readings, story)
		wellFormed(t, picture)
		if *pictures == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(*pictures, d.Name+".svg"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func wellFormed(t *testing.T, picture []byte) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v\n%s", err, picture)
		}
	}
}

var began = time.UnixMilli(1_000_000)

// sketch is a picture of one panel over ten seconds.
func sketch(t *testing.T, panel observability.Panel, series map[string][]float64) string {
	t.Helper()
	panel.Title = "a title"
	story := &Story{From: began, To: began.Add(10 * time.Second), Begins: []time.Time{began}}
	var list []Series
	for _, name := range []string{"critical", "low", "<&>"} {
		s := Series{Labels: map[string]string{"class": name}}
		for i, v := range series[name] {
			if v >= 0 {
				s.Points = append(s.Points, Point{began.Add(time.Duration(i) * time.Second), v})
			}
		}
		if len(s.Points) > 0 {
			list = append(list, s)
		}
	}
	d := observability.Dashboard{Name: "d", Title: "t", Rows: []observability.Row{{Title: "r", Panels: []observability.Panel{panel}}}}
	picture := Draw(&d, map[string][]Reading{"a title": {{observability.Query{Legend: "{{class}}"}, list}}}, story)
	wellFormed(t, picture)
	return string(picture)
}

// Lines are at their heights, broken where values are missing; areas stand on
// each other; bands have the colours of thresholds; names are escaped.
func TestPicture(t *testing.T) {
	steps := []observability.Step{{From: 0, Colour: observability.Green}, {From: 2, Colour: observability.Red}}
	for name, c := range map[string]struct {
		panel  observability.Panel
		series map[string][]float64
		want   []string
	}{
		"a line and a gap":   {observability.Panel{Unit: observability.PerSecond}, map[string][]float64{"critical": {0, 10, -1, 5}}, []string{`d="M50.0 132.0L167.2 40.0M401.6 86.0"`, ">10/s<", ">5/s<", "#b91c1c"}},
		"areas":              {observability.Panel{Kind: observability.Stacked}, map[string][]float64{"critical": {5, 5}, "low": {5, 5}}, []string{`d="M50.0 40.0L167.2 40.0L167.2 86.0L50.0 86.0Z"`, ">10<"}},
		"bands":              {observability.Panel{Kind: observability.States, Steps: steps}, map[string][]float64{"low": {0, 1, 2}}, []string{"#86efac", "#f87171", "low  (0 … 2)"}},
		"a number":           {observability.Panel{Kind: observability.Number, Unit: observability.Seconds}, map[string][]float64{"low": {1, 0.0025}}, []string{">2.5 ms<", ">low<"}},
		"names":              {observability.Panel{}, map[string][]float64{"<&>": {1}}, []string{"&lt;&amp;&gt;"}},
		"a threshold":        {observability.Panel{Steps: steps}, map[string][]float64{"low": {0, 4}}, []string{`M50 86.0H1222" stroke="#f87171"`}},
		"nothing was found":  {observability.Panel{}, nil, []string{">nothing<"}},
		"nothing but zeroes": {observability.Panel{}, map[string][]float64{"low": {0, 0}}, []string{`d="M50.0 132.0L167.2 132.0"`}},
	} {
		picture := sketch(t, c.panel, c.series)
		for _, want := range c.want {
			if !strings.Contains(picture, want) {
				t.Errorf("%s: no %s in\n%s", name, want, picture)
			}
		}
	}
}

func TestAxesEndAtRoundNumbers(t *testing.T) {
	for v, want := range map[float64]float64{0.0011: 0.0015, 1: 1, 1.01: 1.5, 95: 100, 640: 800} {
		if got := round(v); got < want*0.999 || got > want*1.001 {
			t.Errorf("above %v comes %v, want %v", v, got, want)
		}
	}
}
