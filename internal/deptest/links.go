package deptest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// link is [text](target); a link whose text is a code span and whose target is
// a Go file names something that the file declares.
var link = regexp.MustCompile(`\[([^\[\]]+)\]\(([^()\s]+)\)`)

// BrokenLinks lists the links of the module's documents that lead nowhere, and
// those that name something which the file does not declare any more.
func BrokenLinks(t *Tree) (faults []error) {
	err := filepath.WalkDir(t.Root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != t.Root && leftOut(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		faults = append(faults, t.brokenLinks(path, string(text))...)
		return nil
	})
	if err != nil {
		faults = append(faults, err)
	}
	return faults
}

func (t *Tree) brokenLinks(path, text string) (faults []error) {
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		label, target := match[1], match[2]
		if strings.Contains(target, "://") || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		target, _, _ = strings.Cut(target, "#")
		full := filepath.Join(filepath.Dir(path), target)
		if _, err := os.Stat(full); err != nil {
			faults = append(faults, fmt.Errorf("%s: [%s] leads to %s, which is not there", t.rel(path), label, target))
			continue
		}
		name, quoted := strings.CutPrefix(label, "`")
		name = strings.TrimSuffix(name, "`")
		if quoted && filepath.Ext(full) == ".go" && !strings.Contains(name, "/") && !t.declared(full, name) {
			faults = append(faults, fmt.Errorf("%s: %s does not declare %s", t.rel(path), target, name))
		}
	}
	return faults
}

// declared reports whether a file declares a function, Type.Method or type, or
// is called so.
func (t *Tree) declared(file, name string) bool {
	if filepath.Base(file) == name {
		return true
	}
	f := t.file(file)
	if f == nil {
		return false
	}
	return slices.ContainsFunc(f.Syntax.Decls, func(decl ast.Decl) bool {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			return FuncName(d) == name
		case *ast.GenDecl:
			return slices.ContainsFunc(d.Specs, func(spec ast.Spec) bool {
				s, ok := spec.(*ast.TypeSpec)
				return ok && s.Name.Name == name
			})
		}
		return false
	})
}

func (t *Tree) file(path string) *File {
	dir := filepath.ToSlash(filepath.Dir(t.rel(path)))
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if p.Dir == dir && f.Name == filepath.Base(path) {
				return f
			}
		}
	}
	return nil
}

func (t *Tree) rel(path string) string {
	rel, err := filepath.Rel(t.Root, path)
	if err != nil {
		return path
	}
	return rel
}
