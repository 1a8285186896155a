package main

import (
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// writeYAML prints the answer as YAML, its keys in their order. JSON is YAML
// already: only the style of its nodes changes.
func writeYAML(w io.Writer, body []byte) error {
	var document yaml.Node
	if err := yaml.Unmarshal(body, &document); err != nil {
		return fmt.Errorf("this is no status: %w", err)
	}
	unquote(&document)
	text, err := yaml.Marshal(&document)
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// unquote lets the encoder choose the style of every node. Lists and maps
// without content keep theirs, or they would vanish.
func unquote(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode || len(n.Content) > 0 {
		n.Style = 0
	}
	for _, child := range n.Content {
		unquote(child)
	}
}
