package report

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine of a run. Unknown fields are empty.
type Machine struct {
	CPUs   int    `json:"cpus"`
	Model  string `json:"model,omitempty"`
	Memory int64  `json:"memory,omitempty"` // bytes
	Kernel string `json:"kernel,omitempty"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Go     string `json:"go"`
	// Load is the average number of runnable processes in the preceding minute.
	Load float64 `json:"load"`
}

// ThisMachine describes the current machine.
func ThisMachine() Machine {
	kernel := content("/proc/sys/kernel/osrelease")
	return Machine{
		CPUs: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
		Kernel: strings.TrimSpace(kernel),
		Model:  value(content("/proc/cpuinfo"), "model name"),
		Memory: kibibytes(value(content("/proc/meminfo"), "MemTotal")),
		Load:   load(content("/proc/loadavg")),
	}
}

// content is the content of a file, "" on error.
func content(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// value is the text after "key:" in the first such line.
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

// load is the first number of /proc/loadavg.
func load(text string) float64 {
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return n
}

// Busy reports whether other work used enough of the machine to affect the figures.
func (m Machine) Busy() bool { return m.Load > float64(m.CPUs)/4 }
