package config

import (
	"regexp"
	"strings"
	"testing"
)

// Every link of the reference leads to a heading, and every key has a meaning.
func TestReferenceIsComplete(t *testing.T) {
	text := string(Reference())
	headings := map[string]bool{}
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			anchor := slug(strings.TrimSpace(heading))
			if headings[anchor] {
				t.Errorf("two headings have the anchor %s", anchor)
			}
			headings[anchor] = true
		}
	}
	links := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(text, -1)
	if len(links) < 20 {
		t.Errorf("only %d links", len(links))
	}
	for _, link := range links {
		if !headings[link[1]] {
			t.Errorf("the link #%s leads nowhere", link[1])
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") && strings.HasSuffix(line, "|  |\n") {
			t.Errorf("no meaning: %s", line)
		}
	}
}
