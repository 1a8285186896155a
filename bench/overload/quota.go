package overload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// quota is a control group whose processes together may use so much processor
// time.
type quota struct{ dir string }

// oneCore is the share of processor time of one core.
const oneCore = 1.0

// period is the span of time that a quota is measured over, in µs: the kernel's
// default, and that of container runtimes.
const period = 100_000

// newQuota makes a control group with a quota, of either version.
func newQuota(cores float64) (*quota, error) {
	limit := strconv.Itoa(int(cores * period))
	name := fmt.Sprintf("plimsoll-overload-%d", os.Getpid())
	return firstQuota(
		&quota{filepath.Join("/sys/fs/cgroup", name)}, map[string]string{"cpu.max": limit + " " + strconv.Itoa(period)},
		&quota{filepath.Join("/sys/fs/cgroup/cpu", name)}, map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": limit},
	)
}

// firstQuota takes version 2 where it is, and else version 1.
func firstQuota(two *quota, inTwo map[string]string, one *quota, inOne map[string]string) (*quota, error) {
	failed := two.make(inTwo)
	if failed == nil {
		return two, nil
	}
	if err := one.make(inOne); err != nil {
		return nil, fmt.Errorf("overload: no processor quota can be set here: version 2: %w; version 1: %w", failed, err)
	}
	return one, nil
}

func (q *quota) make(files map[string]string) error {
	parent := filepath.Dir(q.dir)
	_, two := files["cpu.max"]
	if _, err := os.Stat(filepath.Join(parent, "cgroup.controllers")); two && err != nil {
		return errors.New("it is not mounted")
	}
	if two {
		control := filepath.Join(parent, "cgroup.subtree_control")
		if has, err := os.ReadFile(control); err != nil || !strings.Contains(string(has), "cpu") {
			if err := os.WriteFile(control, []byte("+cpu"), 0); err != nil {
				return err
			}
		}
	}
	if err := os.Mkdir(q.dir, 0o750); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(q.dir, name), []byte(text), 0); err != nil {
			return errors.Join(err, q.remove())
		}
	}
	return nil
}

// inside is a command that is born in the group.
func (q *quota) inside(command []string) []string {
	return append([]string{"/bin/sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, q.dir}, command...)
}

// remove removes the group, whose processes have ended.
func (q *quota) remove() error { return os.Remove(q.dir) }

// QuotaHere says why no quota can be set, if so.
func QuotaHere() error {
	q, err := newQuota(oneCore)
	if err != nil {
		return err
	}
	return q.remove()
}
