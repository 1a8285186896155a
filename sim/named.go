package sim

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed scenarios/*.txt
var files embed.FS

// Names lists the scenarios that come along.
func Names() (names []string) {
	list, err := files.ReadDir("scenarios")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, f := range list {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}

// Named is a scenario that comes along.
func Named(name string) (*Scenario, error) {
	text, err := files.ReadFile(path.Join("scenarios", name+".txt"))
	if err != nil {
		return nil, fmt.Errorf("no scenario %q comes along, allowed: %s", name, strings.Join(Names(), ", "))
	}
	return Parse(name, string(text))
}
