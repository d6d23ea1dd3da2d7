// Package procstat reads the resource usage of a process from /proc. On systems other than Linux it returns
// errors.ErrUnsupported.
package procstat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// Tick is the unit in which the kernel counts CPU time: USER_HZ, which is 100 on
// every architecture that Go runs on (include/asm-generic/param.h).
const Tick = 10 * time.Millisecond

// CPU is the CPU time of all threads of the process, in user mode and in the kernel.
func CPU(pid int) (time.Duration, error) {
	data, err := read(pid, "stat")
	if err != nil {
		return 0, err
	}
	return parseCPU(data)
}

// Memory is the resident memory of a process in bytes: current and peak.
type Memory struct{ Resident, Peak int64 }

// MemoryOf returns the memory usage of a process.
func MemoryOf(pid int) (Memory, error) {
	data, err := read(pid, "status")
	if err != nil {
		return Memory{}, err
	}
	return parseMemory(data)
}

// Stopped reports whether a signal has stopped all threads of the process. On a busy machine SIGSTOP takes effect late:
// the threads run until one of them is scheduled to receive it.
func Stopped(pid int) (bool, error) {
	if _, err := read(pid, "stat"); err != nil {
		return false, err
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false, err
	}
	for _, thread := range threads {
		stat, err := read(pid, "task/"+thread.Name()+"/stat")
		if err != nil || !strings.HasPrefix(stat[strings.LastIndexByte(stat, ')')+1:], " T") {
			return false, err
		}
	}
	return true, nil
}

// AwaitStopped waits until a signal that was sent to the process has stopped it. It returns at once where there is no
// /proc.
func AwaitStopped(pid int) error {
	return poll.For(time.Minute, time.Millisecond, func() error {
		stopped, err := Stopped(pid)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return nil
		case err != nil:
			return poll.Stop(err)
		case !stopped:
			return fmt.Errorf("process %d still runs after SIGSTOP", pid)
		}
		return nil
	})
}

func read(pid int, file string) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat("/proc/self/stat"); err != nil {
			return "", fmt.Errorf("CPU time and memory of a process need /proc, which this system does not have: %w", errors.ErrUnsupported)
		}
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return string(data), err
}

// parseCPU reads fields 14 and 15 of /proc/PID/stat. The fields are counted after the last parenthesis, because a
// program name may contain anything.
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read /proc/PID/stat: %d fields behind the name, want at least 13", len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read /proc/PID/stat: utime: %w", err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read /proc/PID/stat: stime: %w", err)
	}
	return time.Duration(user+system) * Tick, nil
}

// parseMemory reads VmRSS and VmHWM of /proc/PID/status.
func parseMemory(status string) (Memory, error) {
	resident, err := kibibytes(status, "VmRSS:")
	if err != nil {
		return Memory{}, err
	}
	peak, err := kibibytes(status, "VmHWM:")
	return Memory{resident, peak}, err
}

// kibibytes returns the value, in bytes, of the line that begins with name.
func kibibytes(status, name string) (int64, error) {
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/PID/status: %s %w", name, err)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("read /proc/PID/status: no line %s", name)
}
