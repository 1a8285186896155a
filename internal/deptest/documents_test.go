package deptest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/config"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestConfigurationInDocuments checks each configuration that a reader may copy
// out of a document: those that state their version.
func TestConfigurationInDocuments(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
				if !strings.Contains(block[1], "version: 1") {
					continue
				}
				checked++
				if _, err := config.Parse(path, []byte(block[1])); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no document shows a configuration")
	}
}
