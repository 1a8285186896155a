package overload

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/plimsoll-go/plimsoll/priority"
)

// frame is a call on its way to a service in another process, which runs on the
// same clock.
type frame struct {
	ID     uint64
	Due    int64 // by the system's clock, in ns
	Pick   uint64
	Caller uint32
	Class  uint8
	Bare   bool // past the shedder: the service alone is being measured
	_      [2]byte
}

// verdict is what became of it.
type verdict struct {
	ID   uint64
	Word uint8
	_    [7]byte
}

// The words of a verdict.
const (
	wordRefused = iota
	wordServed
	wordLate
)

func (f *frame) call() Call {
	return Call{Class: priority.FromIndex(int(f.Class)), Caller: int(f.Caller), Pick: f.Pick, Due: time.Unix(0, f.Due)}
}

func newFrame(id uint64, c Call) frame {
	return frame{ID: id, Due: c.Due.UnixNano(), Pick: c.Pick, Caller: uint32(c.Caller), Class: uint8(c.Class.Index())}
}

// write sends one frame or verdict in one piece.
func write(w io.Writer, value any) error { return binary.Write(w, binary.LittleEndian, value) }

// read receives one.
func read(r io.Reader, value any) error { return binary.Read(r, binary.LittleEndian, value) }
