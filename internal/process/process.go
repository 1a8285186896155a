package process

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/insight"
	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/proxy"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// Config sets a process.
type Config struct {
	// Path is the file to run by. Default: none, and Text.
	Path string
	// Text is the configuration without a file. Default: the built-in one.
	Text []byte
	// Overlays change the file each time that it was read, as in config.Load.
	Overlays []config.Overlay
	// Log takes what operators should read. Default os.Stderr.
	Log io.Writer
	// StateDir is where the control state is kept when the file names no
	// directory. If it cannot be used, a warning says so, and what people
	// change ends with the process. Default: it does.
	StateDir string
	// Version is what the status tells. Default none.
	Version string
}

// Process is a configuration made live.
type Process struct {
	config  Config
	log     *slog.Logger
	level   slog.LevelVar
	began   *config.File // its fixed sections count to the end
	started time.Time
	back    chan struct{}   // signalled when the store answers again
	watcher *config.Watcher // nil without a file

	pipeline   *pipeline.Pipeline
	middleware *httpmw.Middleware
	proxy      *proxy.Proxy
	server     *proxy.Server
	telemetry  *telemetry.Telemetry
	observing  observing
	built      atomic.Pointer[config.Built] // what runs now
	control    *control.Control
	insight    *insight.Recorder
	files      *control.File // of the control; nil when it has none
	tokenFiles *control.File // of the keys to the API; likewise

	changing sync.Mutex      // guards what follows: one change at a time
	file     *config.File    // without what overrides change
	effects  control.Effects // of the overrides that hold
	pinned   map[string]bool // worker stages that an override holds
	holding  map[string]control.Override
	state    atomic.Pointer[string]
}

// New reads the configuration and prepares everything that it names. It opens
// no socket and starts no goroutine. For a faulty file the error is, or wraps,
// config.Errors.
func New(c Config) (*Process, error) {
	if c.Log == nil {
		c.Log = os.Stderr
	}
	file, err := c.load()
	if err != nil {
		return nil, err
	}
	if file.Upstream == "" {
		return nil, ErrNoUpstream
	}
	p := &Process{config: c, began: file, started: time.Now()}
	if err := p.beginObserving(c.Log, file); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	p.enter(admin.Starting)
	if err := p.begin(file); err != nil {
		return nil, err
	}
	if c.Path == "" {
		return p, nil
	}
	p.watcher, err = config.NewWatcher(config.WatchConfig{Path: c.Path, Overlays: c.Overlays, Apply: p.apply, Log: p.log})
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	return p, p.watcher.Reload()
}

// ErrNoUpstream says that there is nothing to protect.
var ErrNoUpstream = errors.New("process: no upstream: name the service to protect in the file, with --upstream or in PLIMSOLL_UPSTREAM")

// load reads the file, or the text when there is none.
func (c *Config) load() (*config.File, error) {
	if c.Path != "" {
		return config.Load(c.Path, c.Overlays...)
	}
	file, err := config.Parse(BuiltIn, c.Text)
	if err != nil {
		return nil, err
	}
	var problems config.Errors
	for _, overlay := range c.Overlays {
		problems = append(problems, overlay(file)...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return file, file.Validate()
}

// begin makes the parts of which a process has one.
func (p *Process) begin(file *config.File) error {
	built, err := config.Build(file, nil)
	if err != nil {
		return err
	}
	if p.telemetry, err = telemetry.New(telemetry.Config{Sources: p.sources(), Refusals: p.observing.refusals}); err != nil {
		return fmt.Errorf("process: %w", err)
	}
	p.insight = insight.New(insight.Config{Next: p.telemetry, Now: func() int64 { return p.pipeline.Now() }})
	p.pipeline, err = pipeline.New(pipeline.Config{
		Plan: built.Plan, Store: built.Live.Guard(), Observer: p.insight, Logger: p.log,
		Parallel: parallel(built.Live),
	})
	if err != nil {
		return fmt.Errorf("process: %w", err)
	}
	p.telemetry.Follow(p.pipeline)
	if p.middleware, err = httpmw.New(p.noting(built.Middleware), p.pipeline); err != nil {
		return fmt.Errorf("process: %w", err)
	}
	if p.proxy, err = proxy.New(proxyConfig(file, p.log, p.rewrite)); err != nil {
		return err
	}
	if p.server, err = proxy.NewServer(serverConfig(file, p.log), p.Handler()); err != nil {
		return err
	}
	p.adopt(built)
	p.watchStore(built.Live)
	p.file, p.pinned = file, map[string]bool{}
	return p.beginControl(built.Live)
}

// Handler is the protected upstream, without a listener.
func (p *Process) Handler() http.Handler { return p.middleware.Wrap(http.HandlerFunc(p.forward)) }

// apply makes another file the one that runs. What can fail comes first, and
// leaves the last one running.
func (p *Process) apply(file *config.File) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if _, err := p.rebuild(file, &p.effects); err != nil {
		return err
	}
	p.file = file
	p.insight.Note(insight.Event{Kind: "config", What: "the configuration was changed"})
	p.control.Reapply() // to hear which overrides this file has something for
	if restart := p.built.Load().Restart; len(restart) > 0 {
		p.log.Warn("some changes count only after the next start", "paths", restart)
	}
	return nil
}

func (p *Process) adopt(built *config.Built) {
	p.level.Set(built.File.Log.Level)
	built.Adopt()
	p.built.Store(built)
}

// Reload reads the file again, now, and the certificate. The error says why
// the last good configuration goes on; the log and the status say it, too.
func (p *Process) Reload() error {
	if err := p.server.Reload(); err != nil {
		p.log.Error("certificate refused, the last good one goes on", "error", err)
		return err
	}
	if p.watcher == nil {
		p.log.Warn("there is no file to read again: the built-in configuration runs")
		return nil
	}
	return p.watcher.Reload()
}

func (p *Process) enter(state string) { p.state.Store(&state) }
