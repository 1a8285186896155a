package deptest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tree is a module's source, parsed file by file whatever its build tags.
type Tree struct {
	Module   string
	Root     string
	Fset     *token.FileSet
	Packages []*Package // sorted by Dir
}

// Package is the Go files of one folder.
type Package struct {
	Dir   string // below the module's root, with slashes; "." is the root
	Files []*File
}

// File is one Go file.
type File struct {
	Name   string // without its folder
	Test   bool   // ends in _test.go
	Lines  int
	Syntax *ast.File
}

// Load parses the module in root. It leaves out testdata, hidden folders and
// modules within the module.
func Load(root string) (*Tree, error) {
	module, err := modulePath(root)
	if err != nil {
		return nil, err
	}
	t := &Tree{Module: module, Root: root, Fset: token.NewFileSet()}
	byDir := map[string]*Package{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && leftOut(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		return t.add(byDir, path)
	})
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return t, err
}

func modulePath(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("deptest: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if module, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(module), nil
		}
	}
	return "", fmt.Errorf("deptest: %s/go.mod names no module", root)
}

func leftOut(path, name string) bool {
	if strings.HasPrefix(name, ".") || name == "testdata" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return !errors.Is(err, fs.ErrNotExist)
}

func (t *Tree) add(byDir map[string]*Package, path string) error {
	syntax, err := parser.ParseFile(t.Fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("deptest: %w", err)
	}
	dir, err := filepath.Rel(t.Root, filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("deptest: %w", err)
	}
	dir = filepath.ToSlash(dir)
	p := byDir[dir]
	if p == nil {
		p = &Package{Dir: dir}
		byDir[dir] = p
		t.Packages = append(t.Packages, p)
	}
	p.Files = append(p.Files, &File{
		Name:   filepath.Base(path),
		Test:   strings.HasSuffix(path, "_test.go"),
		Lines:  t.Fset.File(syntax.FileStart).LineCount(),
		Syntax: syntax,
	})
	return nil
}

// At is where a node stands: file and line, below the module's root.
func (t *Tree) At(n ast.Node) string {
	position := t.Fset.Position(n.Pos())
	rel, err := filepath.Rel(t.Root, position.Filename)
	if err != nil {
		rel = position.Filename
	}
	return fmt.Sprintf("%s:%d", filepath.ToSlash(rel), position.Line)
}

// Length is the number of lines that a node covers.
func (t *Tree) Length(n ast.Node) int {
	return t.Fset.Position(n.End()).Line - t.Fset.Position(n.Pos()).Line + 1
}

// Code lists the files that are not tests.
func (p *Package) Code() (list []*File) {
	for _, f := range p.Files {
		if !f.Test {
			list = append(list, f)
		}
	}
	return list
}

// Tests lists the test files.
func (p *Package) Tests() (list []*File) {
	for _, f := range p.Files {
		if f.Test {
			list = append(list, f)
		}
	}
	return list
}

// imports lists the paths that a file imports.
func (f *File) imports() (list []string) {
	for _, spec := range f.Syntax.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// importedAs is the name under which a file knows a package, or "".
func (f *File) importedAs(path string) string {
	for _, spec := range f.Syntax.Imports {
		if spec.Path.Value != strconv.Quote(path) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	return ""
}

// uses lists where a file names something of a package: calls it, or passes
// it on.
func (f *File) uses(path, name string) (list []ast.Node) {
	local := f.importedAs(path)
	if local == "" {
		return nil
	}
	for node := range ast.Preorder(f.Syntax) {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != name {
			continue
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Name == local {
			list = append(list, selector)
		}
	}
	return list
}
