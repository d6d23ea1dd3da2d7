// Package procstat tells what a process has used, from /proc. Elsewhere than on
// Linux all its questions are answered by errors.ErrUnsupported.
package procstat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit in which the kernel counts CPU time: USER_HZ, which is 100 on
// every architecture that Go runs on (include/asm-generic/param.h).
const Tick = 10 * time.Millisecond

// CPU is the time that all threads of the process have spent on a CPU, in user
// mode and in the kernel.
func CPU(pid int) (time.Duration, error) {
	data, err := read(pid, "stat")
	if err != nil {
		return 0, err
	}
	return parseCPU(data)
}

// Memory is how much memory of a process is resident, in bytes: now, and at most so far.
type Memory struct{ Resident, Peak int64 }

// MemoryOf tells how much memory a process has.
func MemoryOf(pid int) (Memory, error) {
	data, err := read(pid, "status")
	if err != nil {
		return Memory{}, err
	}
	return parseMemory(data)
}

// Stopped reports whether a signal has stopped all threads of the process. SIGSTOP takes a while
// on a busy machine: they go on until one of them has had its turn to receive it.
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

// parseCPU reads fields 14 and 15 of /proc/PID/stat. The fields are counted behind
// the last parenthesis, for a program's name may hold anything.
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

// kibibytes returns the number in the line that begins with the name, in bytes.
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
