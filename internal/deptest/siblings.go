package deptest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// stageFiles is what every stage consists of: who has read one knows where to
// look in the next.
var stageFiles = []string{"doc.go", "stage.go", "config.go", "stage_test.go", "example_test.go"}

// UnlikeSiblings lists the stages that are not shaped like the others: without
// one of the files, without the types Stage and Config, or without the line
// that says that a Stage is one.
func UnlikeSiblings(t *Tree) (faults []error) {
	for _, p := range t.Packages {
		if !matches("stages/*", p.Dir) {
			continue
		}
		for _, name := range stageFiles {
			if !slices.ContainsFunc(p.Files, func(f *File) bool { return f.Name == name }) {
				faults = append(faults, fmt.Errorf("%s has no %s", p.Dir, name))
			}
		}
		if !p.declares("stage.go", "Stage") {
			faults = append(faults, fmt.Errorf("%s/stage.go has no type Stage", p.Dir))
		}
		if !p.declares("config.go", "Config") {
			faults = append(faults, fmt.Errorf("%s/config.go has no type Config", p.Dir))
		}
		if !p.claimsToBeStage(t.Module) {
			faults = append(faults, fmt.Errorf("%s does not say var _ pipeline.Stage = (*Stage)(nil), or what it is more than that", p.Dir))
		}
	}
	return faults
}

func (p *Package) declares(file, name string) bool {
	for _, f := range p.Files {
		if f.Name != file {
			continue
		}
		for node := range ast.Preorder(f.Syntax) {
			if s, ok := node.(*ast.TypeSpec); ok && s.Name.Name == name {
				return true
			}
		}
	}
	return false
}

// claimsToBeStage looks for var _ pipeline.X = (*Stage)(nil).
func (p *Package) claimsToBeStage(module string) bool {
	for _, f := range p.Code() {
		for node := range ast.Preorder(f.Syntax) {
			v, ok := node.(*ast.ValueSpec)
			if !ok || v.Names[0].Name != "_" || v.Type == nil {
				continue
			}
			contract, ok := v.Type.(*ast.SelectorExpr)
			if ok && f.importedAs(module+"/pipeline") == fmt.Sprint(contract.X) && len(v.Values) == 1 && isNilStage(v.Values[0]) {
				return true
			}
		}
	}
	return false
}

func isNilStage(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	var names []string
	for node := range ast.Preorder(call) {
		if name, ok := node.(*ast.Ident); ok {
			names = append(names, name.Name)
		}
	}
	return strings.Join(names, " ") == "Stage nil"
}
