package object

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time of f. Unlike the elapsed time, it hardly depends on other processes.
func cpuTime(t *testing.T, f func()) time.Duration {
	t.Helper()
	spent := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			t.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano())
	}
	before := spent()
	f()
	return spent() - before
}
