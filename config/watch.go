package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// DefaultInterval is how often a Watcher looks at its file.
const DefaultInterval = 2 * time.Second

// WatchConfig sets a Watcher. Path and Apply are required.
type WatchConfig struct {
	// Path is the file to watch. It may be a symbolic link that changes, as a
	// ConfigMap of Kubernetes is.
	Path string
	// Interval is how often the file is read, 100ms … 1h. Default 2s. A change
	// is applied when two readings in a row have found the same, so that a
	// file is not taken while it is written.
	Interval time.Duration
	// Overlays change each file that was read, as in Load.
	Overlays []Overlay
	// Apply makes a file the one that runs. It is called by one goroutine at a
	// time. An error has to leave the last file running.
	Apply func(*File) error
	// Log hears of each file that was applied or refused. Nil: nobody does.
	Log *slog.Logger
}

// Status is what runs, and what was last refused.
type Status struct {
	Generation int       // 0 before the first file was applied, then one more for each
	LoadedAt   time.Time // when the file that runs was applied
	Checksum   string    // of that file: SHA-256 in hexadecimal digits
	LastError  error     // why the file as it is now does not run; nil when it does
	FailedAt   time.Time // when it was refused
	Refused    int       // how often one was, since the start
}

// Watcher applies a file, and applies it again when it has changed. A file
// that is wrong, or cannot be read, leaves the last good one running. All
// methods may be called concurrently.
type Watcher struct {
	config WatchConfig

	mu     sync.Mutex // held while a file is read and applied: one at a time
	tried  [sha256.Size]byte
	seen   [sha256.Size]byte // by the last look, when that found something new
	absent bool              // the last look could not read the file

	statusMu sync.Mutex
	status   Status
}

// NewWatcher makes a watcher, and reads nothing yet.
func NewWatcher(c WatchConfig) (*Watcher, error) {
	var errs []error
	if c.Path == "" {
		errs = append(errs, errors.New("config: watch: a path is needed"))
	}
	if c.Apply == nil {
		errs = append(errs, errors.New("config: watch: Apply is needed"))
	}
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.Interval < 100*time.Millisecond || c.Interval > time.Hour {
		errs = append(errs, fmt.Errorf("config: watch: interval must be 100ms … 1h, got %v", c.Interval))
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{config: c}, errors.Join(errs...)
}

// Status is what runs now.
func (w *Watcher) Status() Status {
	w.statusMu.Lock()
	defer w.statusMu.Unlock()
	return w.status
}

// Reload reads the file and applies it, changed or not: for the start, for
// SIGHUP, and for who asks. The error says why the last good file goes on.
func (w *Watcher) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := read(w.config.Path)
	if err == nil {
		return w.apply(data)
	}
	w.absent = true
	return w.refuse(err)
}

// Run looks at the file until the context ends. Call it once, in a goroutine,
// after the first Reload.
func (w *Watcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			w.look()
		}
	}
}

// look applies the file if it has changed and has come to rest. What was
// refused is not tried again until it is another file.
func (w *Watcher) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := read(w.config.Path)
	if err != nil {
		if !w.absent {
			_ = w.refuse(err)
		}
		w.absent = true
		return
	}
	sum := sha256.Sum256(data)
	switch {
	case sum == w.tried && !w.absent:
	case sum == w.seen:
		_ = w.apply(data)
		return
	}
	w.seen = sum
}

// apply tries a file.
func (w *Watcher) apply(data []byte) error {
	w.tried = sha256.Sum256(data)
	w.seen, w.absent = w.tried, false
	f, err := parse(w.config.Path, data, w.config.Overlays)
	if err == nil {
		err = w.config.Apply(f)
	}
	if err != nil {
		return w.refuse(err)
	}
	w.statusMu.Lock()
	w.status = Status{
		Generation: w.status.Generation + 1, LoadedAt: time.Now(), Checksum: hex.EncodeToString(w.tried[:]), Refused: w.status.Refused,
	}
	generation := w.status.Generation
	w.statusMu.Unlock()
	w.config.Log.Info("configuration applied", "file", w.config.Path, "generation", generation)
	return nil
}

// refuse notes that the last good file goes on.
func (w *Watcher) refuse(err error) error {
	w.statusMu.Lock()
	w.status.LastError, w.status.FailedAt = err, time.Now()
	w.status.Refused++
	generation := w.status.Generation
	w.statusMu.Unlock()
	w.config.Log.Error("configuration refused, the last good one goes on", "file", w.config.Path, "generation", generation, "error", err)
	return err
}
