package deptest

import (
	"fmt"
	"go/ast"
	"strings"
)

// Undocumented lists the exported names without a comment, the fields of
// configuration structs among them, and the packages without a comment in
// doc.go; a command and a package of one file have it where they begin.
func Undocumented(t *Tree) (faults []error) {
	for _, p := range t.Packages {
		if code := p.Code(); len(code) > 0 && !packageComment(code) {
			faults = append(faults, fmt.Errorf("%s: no package comment in doc.go", p.Dir))
		}
	}
	for _, e := range t.exported() {
		if !e.documented {
			faults = append(faults, fmt.Errorf("%s: %s has no comment", t.At(e.node), e.name))
		}
	}
	return faults
}

func packageComment(files []*File) bool {
	for _, f := range files {
		if f.Syntax.Doc != nil && (f.Name == "doc.go" || f.Syntax.Name.Name == "main" || len(files) == 1) {
			return true
		}
	}
	return false
}

// export is a name that a reader of the documentation meets.
type export struct {
	name       string
	node       ast.Node
	documented bool
}

func (t *Tree) exported() (list []export) {
	for _, p := range t.Packages {
		for _, f := range p.Code() {
			for _, decl := range f.Syntax.Decls {
				list = append(list, exportedBy(decl)...)
			}
		}
	}
	return list
}

func exportedBy(decl ast.Decl) (list []export) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			list = append(list, export{FuncName(d), d, d.Doc != nil})
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			list = append(list, exportedBySpec(d, spec)...)
		}
	}
	return list
}

func exportedBySpec(d *ast.GenDecl, spec ast.Spec) (list []export) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			alone := d.Doc != nil && !d.Lparen.IsValid()
			list = append(list, export{s.Name.Name, s, alone || s.Doc != nil})
			list = append(list, exportedFields(s)...)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				list = append(list, export{name.Name, name, d.Doc != nil || s.Doc != nil || s.Comment != nil})
			}
		}
	}
	return list
}

// exportedFields holds configuration to more than other structs: each field
// says what it means, in which unit, with which default.
func exportedFields(s *ast.TypeSpec) (list []export) {
	structure, ok := s.Type.(*ast.StructType)
	if !ok || !strings.HasSuffix(s.Name.Name, "Config") {
		return nil
	}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			if name.IsExported() {
				list = append(list, export{s.Name.Name + "." + name.Name, name, field.Doc != nil || field.Comment != nil})
			}
		}
	}
	return list
}

// exportedReceiver reports whether a function is none of a hidden type: the
// methods of those stand in no documentation.
func exportedReceiver(d *ast.FuncDecl) bool {
	receiver := receiverName(d)
	return receiver == "" || ast.IsExported(receiver)
}

func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	for node := range ast.Preorder(d.Recv.List[0].Type) {
		if name, ok := node.(*ast.Ident); ok {
			return name.Name // *T, and T of T[K]
		}
	}
	return ""
}

// FuncName is Name, or Type.Name for a method.
func FuncName(d *ast.FuncDecl) string {
	if receiver := receiverName(d); receiver != "" {
		return receiver + "." + d.Name.Name
	}
	return d.Name.Name
}
