// Command mutants plants faults one by one and reports those that no test
// catches.
//
// A fault is a text file mutants.txt beside the code it is about, or beside the
// tests that must catch it; then the file is named by its path from there:
//
//	# why the fault matters
//	file.go
//	- the line as it is, or several
//	+ the line with the fault, or several
//
// The lines must occur once in the file. Each fault is compiled in through an
// overlay, so the tree is not touched, and the tests of its package must fail.
// A "run" line before the fault narrows the tests: run TestName. A "test" line
// names another package whose tests are to catch it: test ./pipeline.
//
// Usage: go run ./internal/mutants [-v] [package directory …]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// timeout ends a test that a fault made hang: a hang is a catch, too.
const timeout = 90 * time.Second

func main() {
	verbose := flag.Bool("v", false, "print what the tests printed")
	flag.Parse()
	roots := flag.Args()
	if len(roots) == 0 {
		roots = []string{"."}
	}
	survived, total, err := run(roots, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Printf("%d faults planted, %d caught, %d survived\n", total, total-survived, survived)
	if survived > 0 || total == 0 {
		os.Exit(1)
	}
}

func run(roots []string, verbose bool) (survived, total int, err error) {
	for _, root := range roots {
		err = errors.Join(err, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != "mutants.txt" {
				return err
			}
			faults, err := read(path)
			if err != nil {
				return err
			}
			for _, f := range faults {
				total++
				caught, output, err := f.plant()
				if err != nil {
					return fmt.Errorf("%s: %s: %w", path, f.why, err)
				}
				report(f, caught)
				if !caught {
					survived++
				}
				if verbose || !caught {
					fmt.Print(output)
				}
			}
			return nil
		}))
	}
	return survived, total, err
}

func report(f fault, caught bool) {
	verdict := "caught  "
	if !caught {
		verdict = "SURVIVED"
	}
	fmt.Printf("%s  %s: %s\n", verdict, filepath.Join(f.dir, f.file), f.why)
}

// fault is one planted line.
type fault struct {
	dir, file, why     string
	from, to           string
	testPackage, tests string
}

// read parses a file of faults.
func read(path string) ([]fault, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var faults []fault
	dir := filepath.Dir(path)
	next := fault{dir: dir, testPackage: dir}
	for n, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.TrimSpace(line) == "":
			if next.to != "" {
				faults = append(faults, next)
				next = fault{dir: dir, testPackage: dir, file: next.file}
			}
		case word == "#":
			next.why = rest
		case word == "-":
			next.from = joinLines(next.from, rest)
		case word == "+":
			next.to = joinLines(next.to, rest)
			if next.why == "" || next.file == "" || next.from == "" {
				return nil, fmt.Errorf("%s:%d: a fault needs a reason, a file and a line to change", path, n+1)
			}
		case word == "run":
			next.tests = rest
		case word == "test":
			next.testPackage = rest
		case rest == "" && (strings.HasSuffix(word, ".go") || strings.HasSuffix(word, ".lua")):
			next.file = word
		default:
			return nil, fmt.Errorf("%s:%d: cannot read %q", path, n+1, line)
		}
	}
	if next.to != "" {
		faults = append(faults, next)
	}
	return faults, nil
}

func joinLines(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// plant runs the tests with the fault in place, and reports whether they fail.
func (f *fault) plant() (caught bool, output string, err error) {
	source := filepath.Join(f.dir, f.file)
	text, err := os.ReadFile(source)
	if err != nil {
		return false, "", err
	}
	if n := bytes.Count(text, []byte(f.from)); n != 1 {
		return false, "", fmt.Errorf("%q occurs %d times in %s, want once", f.from, n, source)
	}
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, "", err
	}
	defer os.RemoveAll(scratch)
	overlay, err := f.overlay(scratch, source, bytes.Replace(text, []byte(f.from), []byte(f.to), 1))
	if err != nil {
		return false, "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	args := []string{"test", "-overlay", overlay, "-timeout", timeout.String(), "-failfast"}
	if f.tests != "" {
		args = append(args, "-run", f.tests)
	}
	printed, failed := exec.CommandContext(ctx, "go", append(args, "./"+filepath.Clean(f.testPackage))...).CombinedOutput()
	if bytes.Contains(printed, []byte("[build failed]")) || bytes.Contains(printed, []byte("[setup failed]")) {
		return false, "", fmt.Errorf("the fault does not compile:\n%s", printed)
	}
	return failed != nil, string(printed), nil
}

func (f *fault) overlay(scratch, source string, text []byte) (string, error) {
	replaced := filepath.Join(scratch, filepath.Base(f.file))
	absolute, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {absolute: replaced}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "overlay.json")
	return path, errors.Join(os.WriteFile(replaced, text, 0o600), os.WriteFile(path, list, 0o600))
}
