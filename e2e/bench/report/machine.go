package report

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what a run was measured on. What cannot be found out is empty.
type Machine struct {
	CPUs   int    `json:"cpus"`
	Model  string `json:"model,omitempty"`
	Memory int64  `json:"memory,omitempty"` // bytes
	Kernel string `json:"kernel,omitempty"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Go     string `json:"go"`
}

// ThisMachine describes the machine that the program runs on.
func ThisMachine() Machine {
	kernel := content("/proc/sys/kernel/osrelease")
	return Machine{
		CPUs: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
		Kernel: strings.TrimSpace(kernel),
		Model:  value(content("/proc/cpuinfo"), "model name"),
		Memory: kibibytes(value(content("/proc/meminfo"), "MemTotal")),
	}
}

// content is that of a file, "" if there is none.
func content(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// value is what follows "key:" in the first such line.
func value(text, key string) string {
	for line := range strings.Lines(text) {
		if name, rest, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func kibibytes(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
