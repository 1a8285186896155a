package process

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

var _ control.Storage = (*redisstore.Control)(nil)

// beginControl makes the control, which reads nothing before it runs.
func (p *Process) beginControl(live *config.Live) (err error) {
	c := control.Config{
		Storage: &control.Memory{}, Worker: live.Member().Worker(), Apply: p.override, Foresee: p.foresee, Log: p.log,
		Policy: policy(&p.began.Control),
	}
	files, err := p.controlFiles()
	if err != nil {
		return err
	}
	switch redis := live.Redis(); {
	case redis != nil && files != nil:
		c.Storage, c.Local = redis.Control(0), files
	case redis != nil:
		c.Storage = redis.Control(0)
	case files != nil:
		c.Storage = files
	}
	if p.control, err = control.New(c); err != nil {
		return err
	}
	live.Member().OnView(func(v store.View) {
		p.control.Seen(v.Generation)
		p.insight.Fleet(v)
	})
	return nil
}

func policy(c *config.Control) control.Policy {
	p := control.Policy{MaxTTL: c.MaxTTL, MaxBypass: c.MaxBypass}
	for _, class := range c.ProtectedClasses {
		p.Protected = append(p.Protected, class.String())
	}
	for _, caller := range c.ProtectedCallers {
		p.ProtectedCallers = append(p.ProtectedCallers, string(caller))
	}
	for _, kind := range c.TwoPersons {
		p.TwoPersons = append(p.TwoPersons, control.Kind(kind))
	}
	return p
}

// controlFiles opens the directory that the file names. One that nobody named
// is used if it can be: a second process on a machine starts without it.
func (p *Process) controlFiles() (files *control.File, err error) {
	dir, named := p.stateDir(), p.began.Control.Dir != ""
	if dir == "" {
		return nil, nil
	}
	if !named {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			p.log.Warn("overrides end with this process", "error", err)
			return nil, nil
		}
	}
	files, err = control.OpenFile(control.FileConfig{Dir: dir, Log: p.log})
	switch {
	case err == nil:
		p.files = files
		return files, nil
	case named:
		return nil, fmt.Errorf("process: control.dir: %w", err)
	}
	p.log.Warn("overrides end with this process", "error", err)
	return nil, nil
}
