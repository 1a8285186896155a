//go:build unix

package control

import (
	"os"
	"syscall"
)

// exclusive makes a file this process's own until it is closed.
func exclusive(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
