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
	// Load is how many processes wanted to run in the minute before, on average.
	Load float64 `json:"load"`
}

// ThisMachine describes the machine that the program runs on.
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

// load is the first number of /proc/loadavg.
func load(text string) float64 {
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return n
}

// Busy reports whether other work had so much of the machine that it shows in the figures.
func (m Machine) Busy() bool { return m.Load > float64(m.CPUs)/4 }
