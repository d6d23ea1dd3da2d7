//go:build unix

package typed

import (
	"syscall"
	"time"
)

// spent returns the time of processors that this process has had.
func spent() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano())
}
