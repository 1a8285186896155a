package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a file, its watcher, and what was applied.
type watched struct {
	*Watcher
	t       *testing.T
	path    string
	applied []string // the listen addresses of the files
	refuse  error    // what Apply answers
}

func watch(t *testing.T, listen string) *watched {
	w := &watched{t: t, path: filepath.Join(t.TempDir(), "plimsoll.yml")}
	w.write("version: 1\nlisten: " + listen + "\n")
	watcher, err := NewWatcher(WatchConfig{Path: w.path, Interval: time.Second, Apply: func(f *File) error {
		if w.refuse == nil {
			w.applied = append(w.applied, string(f.Listen))
		}
		return w.refuse
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.Watcher = watcher
	if err := w.Reload(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) want(applied string, generation int, failed bool) {
	w.t.Helper()
	s := w.Status()
	if got := strings.Join(w.applied, " "); got != applied || s.Generation != generation || (s.LastError != nil) != failed {
		w.t.Errorf("applied %q, generation %d, error %v; want %q, %d, failed %v", got, s.Generation, s.LastError, applied, generation, failed)
	}
}

func TestAChangedFileIsApplied(t *testing.T) {
	w := watch(t, ":1")
	w.want(":1", 1, false)
	first := w.Status()
	w.look()
	w.want(":1", 1, false)
	w.write("version: 1\nlisten: :2\n")
	w.look()
	w.look()
	w.want(":1 :2", 2, false)
	if s := w.Status(); s.Checksum == first.Checksum || len(s.Checksum) != 64 || s.LoadedAt.Before(first.LoadedAt) {
		t.Errorf("status %+v after %+v", s, first)
	}
}

// A file that is being written is left alone, even where its beginning is a
// valid file.
func TestAFileIsNotTakenWhileItIsWritten(t *testing.T) {
	w := watch(t, ":1")
	for _, text := range []string{"version: 1\n", "version: 1\nlisten: :2\n", "version: 1\nlisten: :22\n"} {
		w.write(text)
		w.look()
		w.want(":1", 1, false)
	}
	w.look()
	w.want(":1 :22", 2, false)
}

func TestABadFileLeavesTheLastGoodOne(t *testing.T) {
	w := watch(t, ":1")
	w.write("version: 1\nlisten: nowhere\n")
	w.look()
	w.look()
	w.want(":1", 1, true)
	if problems, ok := errors.AsType[Errors](w.Status().LastError); !ok || problems[0].Line != 2 {
		t.Errorf("got %v", w.Status().LastError)
	}
	failed := w.Status().FailedAt
	for range 3 {
		w.look()
	}
	if w.Status().FailedAt != failed {
		t.Error("the same bad file was tried again and again")
	}
	w.write("version: 1\nlisten: :3\n")
	w.look()
	w.look()
	w.want(":1 :3", 2, false)
}

// A reload that found no file is an error that ends with the file's return,
// and that is told once.
func TestAFileThatComesBackEndsTheErrorOfAReload(t *testing.T) {
	w := watch(t, ":1")
	if err := os.Rename(w.path, w.path+".away"); err != nil {
		t.Fatal(err)
	}
	if w.Reload() == nil {
		t.Error("a file that is not there was reloaded")
	}
	failed := w.Status().FailedAt
	w.look()
	if w.want(":1", 1, true); w.Status().FailedAt != failed {
		t.Error("the same absence was refused again")
	}
	if err := os.Rename(w.path+".away", w.path); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.look()
	if s := w.Status(); s.LastError != nil {
		t.Errorf("still %v", s.LastError)
	}
}

// The good file that runs, put back in the place of a bad one, ends the error.
func TestTheOldFilePutBackEndsTheError(t *testing.T) {
	w := watch(t, ":1")
	w.write("version: 2\n")
	w.look()
	w.look()
	w.want(":1", 1, true)
	w.write("version: 1\nlisten: :1\n")
	w.look()
	w.look()
	if s := w.Status(); s.LastError != nil {
		t.Errorf("still %v", s.LastError)
	}
}

func TestAMissingFileLeavesTheLastGoodOne(t *testing.T) {
	w := watch(t, ":1")
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.want(":1", 1, true)
	failed := w.Status().FailedAt
	w.look()
	if w.Status().FailedAt != failed {
		t.Error("a missing file is reported again and again")
	}
	w.write("version: 1\nlisten: :1\n")
	w.look()
	w.look()
	if s := w.Status(); s.LastError != nil {
		t.Errorf("it is back, and the error stays: %v", s.LastError)
	}
}

func TestWhatCannotBeAppliedIsRefused(t *testing.T) {
	w := watch(t, ":1")
	w.refuse = errors.New("the certificate is not there")
	w.write("version: 1\nlisten: :2\n")
	w.look()
	w.look()
	w.want(":1", 1, true)
	w.refuse = nil
	w.look()
	w.want(":1", 1, true) // the file is the same, nobody asked
	if err := w.Reload(); err != nil {
		t.Error(err)
	}
	w.want(":1 :2", 2, false)
}

// SIGHUP applies a file at once, and also one that has not changed: what it
// refers to may have.
func TestReloadAppliesAtOnce(t *testing.T) {
	w := watch(t, ":1")
	if err := w.Reload(); err != nil {
		t.Error(err)
	}
	w.want(":1 :1", 2, false)
	w.write("version: 1\nlisten: x\n")
	if err := w.Reload(); err == nil {
		t.Error("a bad file was accepted")
	}
	w.want(":1 :1", 2, true)
}

// The file of a ConfigMap is a link to a link that is replaced.
func TestALinkThatChangesIsFollowed(t *testing.T) {
	w := watch(t, ":1")
	other := w.path + ".new"
	if err := os.WriteFile(other, []byte("version: 1\nlisten: :2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := w.path + ".link"
	if err := errors.Join(os.Symlink(other, link), os.Rename(link, w.path)); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.look()
	w.want(":1 :2", 2, false)
}

func TestRunLooksInItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, ":1")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		w.write("version: 1\nlisten: :2\n")
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		w.want(":1 :2", 2, false)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWatcherNeedsItsConfig(t *testing.T) {
	_, err := NewWatcher(WatchConfig{Interval: time.Nanosecond})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not every fault is named: %v", err)
	}
}
