package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// segment is a file of the trail.
type segment struct {
	Name  string `json:"name"`
	First uint64 `json:"first"` // number of its first record
	Bytes int64  `json:"bytes"` // that belong to the trail; what is behind them does not
}

// trail is the audit trail in its files: a record to a line.
type trail struct {
	segments []segment
	file     *os.File  // the last segment
	starts   [][]int64 // by segment: where each record begins
	dir      string
}

// open reads the trail up to where the state says that it goes.
func (t *trail) open(f *File, segments []segment) error {
	t.dir = f.config.Dir
	for i, s := range segments {
		starts, err := t.scan(f, s)
		if err != nil {
			return fmt.Errorf("the audit trail: %w", err)
		}
		t.starts = append(t.starts, starts)
		t.segments = append(t.segments, segments[i])
	}
	if len(segments) == 0 {
		return nil
	}
	return t.reopen(f)
}

// scan finds the records of a segment. One that is damaged is left for Verify
// to find.
func (t *trail) scan(f *File, s segment) (starts []int64, err error) {
	content, err := os.ReadFile(f.path(s.Name))
	if errors.Is(err, fs.ErrNotExist) {
		f.config.Log.Error("a part of the audit trail is missing", "file", f.path(s.Name))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if int64(len(content)) < s.Bytes {
		f.config.Log.Error("the audit trail is cut off", "file", f.path(s.Name), "bytes", len(content), "should_be", s.Bytes)
	}
	content = content[:min(int64(len(content)), s.Bytes)]
	for at := 0; at < len(content); {
		starts = append(starts, int64(at))
		end := bytes.IndexByte(content[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return starts, nil
}

// reopen opens the last segment for writing. What lies behind its end was
// never part of a state, or of one that was lost: it is put aside.
func (t *trail) reopen(f *File) error {
	last := t.segments[len(t.segments)-1]
	file, err := os.OpenFile(f.path(last.Name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	t.file = file
	rest, err := io.ReadAll(io.NewSectionReader(file, last.Bytes, 1<<40))
	if err != nil || len(rest) == 0 {
		return err
	}
	aside := fmt.Sprintf("unused-%d.log", time.Now().UnixNano())
	f.config.Log.Warn("records of changes that were never made are put aside", "file", f.path(aside), "bytes", len(rest))
	return errors.Join(os.WriteFile(f.path(aside), rest, 0o600), file.Truncate(last.Bytes))
}

// append writes a record behind the trail, and returns what the segments are
// if the state that names them is saved. Until then nothing has changed.
func (t *trail) append(f *File, record []byte) (segments []segment, err error) {
	segments = append([]segment(nil), t.segments...)
	file := t.file
	if len(segments) == 0 || segments[len(segments)-1].Bytes >= f.config.SegmentBytes {
		s := segment{First: t.next()}
		s.Name = fmt.Sprintf("audit-%012d.log", s.First)
		if file, err = t.begin(f, s.Name); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				file.Close()
			}
		}()
		segments = append(segments, s)
	}
	s := &segments[len(segments)-1]
	line := append(bytes.Clone(record), '\n')
	if err := writeAt(f, file, line, s.Bytes); err != nil {
		return nil, err
	}
	s.Bytes += int64(len(line))
	if file != t.file {
		t.fresh(file)
	}
	return segments[max(0, len(segments)-f.config.Segments):], nil
}

// writeAt writes at a place, so that what an earlier attempt left there is
// gone.
func writeAt(f *File, file *os.File, line []byte, at int64) error {
	if err := f.step("append"); err != nil {
		_, _ = file.WriteAt(line[:len(line)/2], at) // what a crash leaves
		return err
	}
	if _, err := file.WriteAt(line, at); err != nil {
		return err
	}
	if err := f.step("sync trail"); err != nil {
		return err
	}
	return file.Sync()
}

func (t *trail) begin(f *File, name string) (*os.File, error) {
	if err := f.step("begin segment"); err != nil {
		return nil, err
	}
	return os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// fresh goes on in a new file. The old one was synced with its last record.
func (t *trail) fresh(file *os.File) {
	if t.file != nil {
		t.file.Close()
	}
	t.file = file
}

// forget goes back to before an append that came to nothing: the last file is
// opened again at the next.
func (t *trail) forget() {
	if len(t.segments) == 0 || t.file == nil {
		t.close()
		return
	}
	last := t.path(t.segments[len(t.segments)-1].Name)
	if t.file.Name() == last {
		return
	}
	t.close()
	t.file, _ = os.OpenFile(last, os.O_RDWR, 0o600)
}

func (t *trail) path(name string) string { return t.dir + string(os.PathSeparator) + name }

// keep makes segments that a saved state names the trail.
func (t *trail) keep(f *File, segments []segment) {
	last := segments[len(segments)-1]
	if len(t.segments) == 0 || t.segments[len(t.segments)-1].Name != last.Name {
		t.starts = append(t.starts, nil)
	}
	before := int64(0)
	if n := len(t.segments); n > 0 && t.segments[n-1].Name == last.Name {
		before = t.segments[n-1].Bytes
	}
	t.starts[len(t.starts)-1] = append(t.starts[len(t.starts)-1], before)
	for _, s := range t.segments {
		if s.First < segments[0].First {
			os.Remove(f.path(s.Name))
		}
	}
	t.starts = t.starts[len(t.starts)-len(segments):]
	t.segments = segments
}

// next is the number of the next record.
func (t *trail) next() uint64 {
	n := len(t.segments)
	if n == 0 {
		return 1
	}
	return t.segments[n-1].First + uint64(len(t.starts[n-1]))
}

// read reads records from a number on.
func (t *trail) read(from uint64, most int) (records [][]byte, err error) {
	for i, s := range t.segments {
		starts := t.starts[i]
		skip := uint64(0)
		if from > s.First {
			skip = from - s.First
		}
		if skip >= uint64(len(starts)) || len(records) >= most {
			continue
		}
		starts = starts[skip:]
		n := min(len(starts), most-len(records))
		end := s.Bytes
		if n < len(starts) {
			end = starts[n]
		}
		content := make([]byte, end-starts[0])
		file, err := os.Open(t.path(s.Name))
		if err != nil {
			return nil, err
		}
		_, err = file.ReadAt(content, starts[0])
		file.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		for line := range bytes.Lines(content) {
			records = append(records, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	return records, nil
}

func (t *trail) close() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}
