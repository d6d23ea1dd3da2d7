package proc

import (
	"fmt"
	"os"
	"strings"
)

// startTime reads field 22 of /proc/PID/stat, ticks since boot. The fields are counted after the last parenthesis,
// because a program name may contain anything. The state is that of the first thread, which is a zombie in a running
// process if it alone has ended. This also happens briefly when another thread calls execve(2), which ends the first
// thread and takes its place.
func startTime(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ErrGone
	}
	_, rest, _ := strings.Cut(string(data[max(0, strings.LastIndexByte(string(data), ')')):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "X" {
		return "", ErrGone
	}
	if threads := fields[17]; fields[0] == "Z" && (threads == "0" || threads == "1") {
		return "", ErrGone
	}
	return fields[19], nil
}

func bootID() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, only start times are compared
	return strings.TrimSpace(string(data))
}
