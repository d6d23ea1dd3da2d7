package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock waits for an exclusive lock on a file, which it creates if necessary, and returns a function to unlock it. The
// file is kept: removing it would let two processes hold the lock.
func Lock(path string) (func(), error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}
