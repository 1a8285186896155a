package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// errUnchanged marks errors of a storage that surely changed nothing.
var errUnchanged = errors.New("nothing was changed")

// FileConfig sets a file storage. Dir is required.
type FileConfig struct {
	// Dir is the directory that is the storage's own. It is made if its parent
	// is there, and must not be writable for others.
	Dir string
	// SegmentBytes is how long a file of the audit trail grows before another
	// is begun, 4 KiB … 1 GiB. Default 8 MiB.
	SegmentBytes int64
	// Segments is how many such files are kept, 2 … 1,000: then the oldest is
	// removed. Default 8.
	Segments int
	// Log is told what was found damaged. Default: nobody.
	Log *slog.Logger
}

// File is a storage in files of one process, which survives its end. A change
// is made when the file of the state was replaced by renaming; its record lies
// in the trail by then, and what lies there beyond that is of a change that was
// never made. Make one with OpenFile.
//
// The clock is the machine's: one that is set moves the ends of overrides.
type File struct {
	config FileConfig
	lock   *os.File
	step   func(operation string) error // for tests: called before each operation on a file

	mu       sync.Mutex
	saved    saved
	trail    trail
	watchers watchers
}

var _ Storage = (*File)(nil)

// saved is what the file of the state holds.
type saved struct {
	Revision uint64          `json:"revision"`
	State    json.RawMessage `json:"state"`
	Segments []segment       `json:"segments"`
	Saved    time.Time       `json:"saved"`
}

// The files of a storage.
const (
	stateFile   = "state"
	spareFile   = "state.previous"
	freshFile   = "state.new"
	damagedFile = "state.damaged"
	lockFile    = "lock"
)

// OpenFile opens a storage. What is damaged is said in the log, and the last
// good state is used. An error says in one sentence what is wrong and where.
func OpenFile(c FileConfig) (*File, error) { return openFile(c, func(string) error { return nil }) }

func openFile(c FileConfig, step func(string) error) (*File, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	f := &File{config: c, step: step}
	if err := f.prepare(); err != nil {
		return nil, fmt.Errorf("control: open %s: %w", c.Dir, err)
	}
	if err := f.load(); err != nil {
		f.Close()
		return nil, fmt.Errorf("control: open %s: %w", c.Dir, err)
	}
	return f, nil
}

func (c *FileConfig) complete() error {
	if c.SegmentBytes == 0 {
		c.SegmentBytes = 8 << 20
	}
	if c.Segments == 0 {
		c.Segments = 8
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("control: a directory is needed"))
	}
	if c.SegmentBytes < 4<<10 || c.SegmentBytes > 1<<30 {
		errs = append(errs, fmt.Errorf("control: segment bytes must be 4096 … 1073741824, got %d", c.SegmentBytes))
	}
	if c.Segments < 2 || c.Segments > 1000 {
		errs = append(errs, fmt.Errorf("control: segments must be 2 … 1000, got %d", c.Segments))
	}
	return errors.Join(errs...)
}

// prepare makes the directory this process's own.
func (f *File) prepare() error {
	if err := os.Mkdir(f.config.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(f.config.Dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is no directory")
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write to it (mode %04o), so nothing in it can be trusted: chmod 700", info.Mode().Perm())
	}
	f.lock, err = os.OpenFile(f.path(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := exclusive(f.lock); err != nil {
		f.lock.Close()
		return fmt.Errorf("another process uses it: %w", err)
	}
	return nil
}

func (f *File) path(name string) string { return filepath.Join(f.config.Dir, name) }

// load finds the last good state, and the trail up to it.
func (f *File) load() error {
	s, err := readSaved(f.path(stateFile))
	if err != nil {
		spare, spareErr := readSaved(f.path(spareFile))
		switch {
		case errors.Is(err, fs.ErrNotExist) && errors.Is(spareErr, fs.ErrNotExist):
		case spareErr != nil:
			return fmt.Errorf("the state cannot be read, and neither can the one before it: %w", errors.Join(err, spareErr))
		default:
			f.config.Log.Error("the control state is damaged, the one before it is used", "file", f.path(stateFile), "error", err, "of", spare.Saved)
			if err := f.fallBack(); err != nil {
				return err
			}
		}
		s = spare
	}
	f.saved = s
	return f.trail.open(f, s.Segments)
}

// fallBack puts the state before the damaged one in its place.
func (f *File) fallBack() error {
	if err := os.Rename(f.path(stateFile), f.path(damagedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(f.path(spareFile), f.path(stateFile))
}

// readSaved reads a file of a state: a line with the hash of the rest, and the
// rest.
func readSaved(path string) (s saved, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if len(content) <= hashed || content[hashed] != '\n' || hashOf(content[hashed+1:]) != string(content[:hashed]) {
		return s, fmt.Errorf("%s is cut off or altered: its content is not what was written", path)
	}
	return s, json.Unmarshal(content[hashed+1:], &s)
}

// Close ends the use of the files.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.trail.close(), f.lock.Close())
}

// Read returns the state.
func (f *File) Read(context.Context) (state []byte, revision uint64, now int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saved.State, f.saved.Revision, time.Now().UnixNano(), nil
}

// Records reads records.
func (f *File) Records(_ context.Context, from uint64, most int) (records [][]byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trail.read(from, most)
}

// Watch reports the changes of this process until the context ends.
func (f *File) Watch(ctx context.Context, changed func()) error {
	return f.watchers.watch(ctx, changed)
}

// Swap replaces the state: first the record is written, then the state beside
// the old one, and then that takes its place.
func (f *File) Swap(_ context.Context, revision, next uint64, state, record []byte) (swapped bool, err error) {
	f.mu.Lock()
	swapped, err = f.swap(revision, saved{Revision: next, State: state, Saved: time.Now().UTC()}, record)
	f.mu.Unlock()
	if swapped {
		f.watchers.tell()
	}
	return swapped, err
}

func (f *File) swap(revision uint64, s saved, record []byte) (bool, error) {
	if revision != f.saved.Revision {
		return false, nil
	}
	segments, err := f.trail.append(f, record)
	if err != nil {
		return false, fmt.Errorf("control: write the audit trail: %w: %w", errUnchanged, err)
	}
	s.Segments = segments
	if err := f.replace(&s); err != nil {
		f.trail.forget()
		return false, fmt.Errorf("control: write the state: %w", err)
	}
	f.saved = s
	f.trail.keep(f, segments)
	return true, nil
}

// replace makes a state the one that the next start finds. Until it is
// renamed nothing has changed.
func (f *File) replace(s *saved) error {
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnchanged, err)
	}
	unchanged := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w: %w", errUnchanged, err)
	}
	if err := f.write(f.path(freshFile), append([]byte(hashOf(body)+"\n"), body...)); err != nil {
		return unchanged(err)
	}
	if err := f.spare(); err != nil {
		return unchanged(err)
	}
	if err := f.step("rename"); err != nil {
		return unchanged(err)
	}
	if err := os.Rename(f.path(freshFile), f.path(stateFile)); err != nil {
		return unchanged(err)
	}
	if err := syncDir(f.config.Dir); err != nil {
		f.config.Log.Error("a fall of the power may take back the last change", "directory", f.config.Dir, "error", err)
	}
	return nil
}

// spare keeps the present state under another name.
func (f *File) spare() error {
	if err := f.step("remove spare"); err != nil {
		return err
	}
	if err := os.Remove(f.path(spareFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.step("link spare"); err != nil {
		return err
	}
	if err := os.Link(f.path(stateFile), f.path(spareFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write makes a file with a content that has reached the disk.
func (f *File) write(path string, content []byte) error {
	if err := f.step("create"); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := f.step("write"); err != nil {
		content = content[:len(content)/2] // what a crash leaves
		_, _ = file.Write(content)
		return errors.Join(err, file.Close())
	}
	_, err = file.Write(content)
	if err == nil {
		err = f.step("sync")
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
