package control

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func openDir(t *testing.T, c FileConfig) *File {
	t.Helper()
	f, err := OpenFile(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestAFileSurvivesItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control")
	f := openDir(t, FileConfig{Dir: dir})
	c := newControl(t, Config{Storage: f})
	made := c.must(t, create(shed("high"), 1))
	if _, err := OpenFile(FileConfig{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("opened twice: %v", err)
	}
	f.Close()
	again := newControl(t, Config{Storage: openDir(t, FileConfig{Dir: dir})})
	if err := again.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := again.State(); len(s.Active) != 1 || s.Active[0] != made.Override || s.Document.Version != 2 {
		t.Errorf("%+v", s)
	}
	again.must(t, Change{Action: Revoke, ID: made.Override.ID, Expect: 2, Actor: bob})
	if v, err := again.Verify(t.Context()); err != nil || !v.OK() || v.Records != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

var errCrash = errors.New("the process ended here")

// crasher ends a storage at its n-th operation: that one and all later ones fail.
type crasher struct{ left int }

func (c *crasher) step(string) error {
	if c.left--; c.left < 0 {
		return errCrash
	}
	return nil
}

// Whatever operation a process ends at, the next one finds a state of before or
// of after the change, with the trail that belongs to it, and goes on.
func TestACrashBetweenAnyTwoOperations(t *testing.T) {
	for begun := range 4 { // changes that were made before
		for n := range 40 {
			dir := t.TempDir()
			small := FileConfig{Dir: filepath.Join(dir, "c"), SegmentBytes: 4 << 10, Segments: 2}
			made := fill(t, small, begun)
			crash := &crasher{left: n}
			f, err := openFile(small, crash.step)
			if err != nil {
				t.Fatal(err)
			}
			c := newControl(t, Config{Storage: f})
			_, err = c.Do(t.Context(), create(shed("high"), made))
			f.Close()
			after := newControl(t, Config{Storage: openDir(t, small)})
			s := check(t, after, fmt.Sprintf("%d changes, crash at %d", begun, n))
			switch {
			case err == nil && s.Document.Version != made+1:
				t.Fatalf("%d changes, crash at %d: a change that was acknowledged is lost", begun, n)
			case err != nil && isUnavailable(err) && s.Document.Version != made:
				t.Fatalf("%d changes, crash at %d: %v, and it was made", begun, n, err)
			}
			after.must(t, create(shed("normal"), s.Document.Version))
			check(t, after, "the next change")
			if crash.left >= 0 {
				break // it was not reached: all operations have had their turn
			}
		}
	}
}

func isUnavailable(err error) bool {
	_, is := errors.AsType[*UnavailableError](err)
	return is
}

// fill makes changes, and returns the version.
func fill(t *testing.T, config FileConfig, changes int) (version uint64) {
	t.Helper()
	f, err := OpenFile(config)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newControl(t, Config{Storage: f})
	for i := range changes {
		o := shed("high")
		o.Reason = strings.Repeat("long ", 99)
		c.must(t, create(o, uint64(i+1)))
	}
	return uint64(changes + 1)
}

// check verifies the trail and returns what is known.
func check(t *testing.T, c *Control, what string) State {
	t.Helper()
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if v, err := c.Verify(t.Context()); err != nil || !v.OK() {
		t.Fatalf("%s: %+v, %v", what, v, err)
	}
	return c.State()
}

func TestATrailIsBounded(t *testing.T) {
	config := FileConfig{Dir: filepath.Join(t.TempDir(), "c"), SegmentBytes: 4 << 10, Segments: 3}
	f := openDir(t, config)
	c := newControl(t, Config{Storage: f})
	for range 60 {
		if err := c.Note(t.Context(), ann, "note", strings.Repeat("x", 300)); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(config.Dir, "audit-*"))
	if err != nil || len(logs) != 3 {
		t.Errorf("%v, %v", logs, err)
	}
	v, err := c.Verify(t.Context())
	if err != nil || !v.OK() || v.Last != 60 || v.First < 20 || v.Records != v.Last-v.First+1 {
		t.Errorf("%+v, %v", v, err)
	}
	f.Close()
	c = newControl(t, Config{Storage: openDir(t, config)})
	if again, err := c.Verify(t.Context()); err != nil || again != v {
		t.Errorf("%+v, %v", again, err)
	}
}

// Whatever is done to a record, Verify names the first that is not what it was.
func TestTampering(t *testing.T) {
	for name, c := range map[string]struct {
		change func(lines [][]byte) [][]byte
		broken uint64
	}{
		"altered":      {func(l [][]byte) [][]byte { l[3] = bytes.Replace(l[3], []byte("ann"), []byte("bob"), 1); return l }, 4},
		"removed":      {func(l [][]byte) [][]byte { return append(l[:3:3], l[4:]...) }, 4},
		"moved":        {func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l }, 4},
		"twice":        {func(l [][]byte) [][]byte { l[4] = l[3]; return l }, 5},
		"cut off":      {func(l [][]byte) [][]byte { return l[:8] }, 9},
		"all but last": {func(l [][]byte) [][]byte { return l[:9] }, 10},
		"forged": {func(l [][]byte) [][]byte {
			r, _ := open(l[3])
			r.Actor.Name = "bob"
			l[3] = r.seal()
			return l
		}, 5},
		"forged last": {func(l [][]byte) [][]byte {
			r, _ := open(l[9])
			r.Actor.Name = "bob"
			l[9] = r.seal()
			return l
		}, 10},
		"garbage": {func(l [][]byte) [][]byte { l[0] = []byte("nonsense"); return l }, 1},
	} {
		m := &Memory{}
		made := newControl(t, Config{Storage: m})
		for range 10 {
			if err := made.Note(t.Context(), ann, "note", "something"); err != nil {
				t.Fatal(err)
			}
		}
		m.records = c.change(m.records)
		v, err := made.Verify(t.Context())
		if err != nil || v.OK() || v.Broken != c.broken {
			t.Errorf("%s: %+v, %v, want record %d", name, v, err, c.broken)
		}
	}
}

// A damaged state is told in the log, and the one before it is used.
func TestDamagedStates(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return nil },
		"altered": func(b []byte) []byte { return bytes.Replace(b, []byte("ann"), []byte("bob"), 1) },
	} {
		config := FileConfig{Dir: filepath.Join(t.TempDir(), "c")}
		fill(t, config, 3)
		path := filepath.Join(config.Dir, stateFile)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, damage(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		config.Log = slog.New(slog.NewTextHandler(&log, nil))
		c := newControl(t, Config{Storage: openDir(t, config)})
		if s := check(t, c, name); s.Document.Version != 3 {
			t.Errorf("%s: version %d", name, s.Document.Version)
		}
		if !strings.Contains(log.String(), "the control state is damaged, the one before it is used") {
			t.Errorf("%s: the log says %q", name, log.String())
		}
		c.must(t, create(shed("high"), 3))
		check(t, c, name)
	}
}

func TestWhatCannotBeUsed(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(parent, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // that is the fault
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		file:                            "it is no directory",
		open:                            "others may write to it (mode 0777)",
		filepath.Join(parent, "a", "b"): "no such file or directory",
		"":                              "a directory is needed",
	} {
		if _, err := OpenFile(FileConfig{Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
}

// A disk that is full refuses the change with a sentence, and what was goes on.
func TestAFullDisk(t *testing.T) {
	full := false
	f, err := openFile(FileConfig{Dir: filepath.Join(t.TempDir(), "c")}, func(operation string) error {
		if full && operation == "append" {
			return errors.New("no space left on device")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newControl(t, Config{Storage: f})
	c.must(t, create(shed("high"), 1))
	full = true
	_, err = c.Do(t.Context(), create(shed("normal"), 2))
	if !isUnavailable(err) || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	full = false
	c.must(t, create(shed("normal"), 2))
	if s := check(t, c, "after"); s.Document.Version != 3 {
		t.Errorf("%+v", s)
	}
}
