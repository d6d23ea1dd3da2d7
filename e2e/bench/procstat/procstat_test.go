package procstat

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseCPU(t *testing.T) {
	for why, row := range map[string]struct {
		stat string
		want time.Duration
		err  string
	}{
		"user and system time are added":     {"42 (templater) S 1 42 42 0 -1 4194304 101 0 0 0 250 50 7 9 20 0", 3 * time.Second, ""},
		"a name may hold spaces and a brace": {"42 (a ) b (c) S 1 42 42 0 -1 4194304 101 0 0 0 1 2 0 0 20 0", 30 * time.Millisecond, ""},
		"too few fields":                     {"42 (x) S 1", 0, "read /proc/PID/stat: 2 fields behind the name, want at least 13"},
		"no number":                          {"42 (x) S 1 42 42 0 -1 4194304 101 0 0 0 x 2", 0, "utime"},
	} {
		t.Run(why, func(t *testing.T) {
			got, err := parseCPU(row.stat)
			if got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("error %v, want %q", err, row.err)
			}
		})
	}
}

func TestParseMemory(t *testing.T) {
	got, err := parseMemory("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t     20 kB\nVmRSS:\t     10 kB\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Memory{Resident: 10 << 10, Peak: 20 << 10}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := parseMemory("Name:\tzombie\n"); err == nil {
		t.Error("a process without memory has no error")
	}
}

func TestOwnProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	memory, err := MemoryOf(os.Getpid())
	if err != nil || memory.Resident < 1<<20 || memory.Peak < memory.Resident {
		t.Errorf("memory of this process: %+v, %v", memory, err)
	}
	if cpu, err := CPU(os.Getpid()); err != nil || cpu < 0 || cpu > time.Hour {
		t.Errorf("CPU time of this process: %s, %v", cpu, err)
	}
}

func TestQuietSince(t *testing.T) {
	start := time.Unix(0, 0)
	// at converts ticks, one per 100 ms, to samples.
	at := func(ticks ...int) (samples []sample) {
		for i, n := range ticks {
			samples = append(samples, sample{start.Add(time.Duration(i) * 100 * time.Millisecond), time.Duration(n) * Tick})
		}
		return samples
	}
	quiet := Quiet{Window: 500 * time.Millisecond, Ticks: 1}
	for why, row := range map[string]struct {
		samples []sample
		want    int // index of the sample, -1 for not quiet
	}{
		"too short to tell":                   {at(3, 3, 3, 3, 3), -1},
		"nothing was ever used":               {at(3, 3, 3, 3, 3, 3), 0},
		"one tick is still quiet":             {at(3, 3, 3, 4, 4, 4), 0},
		"two ticks are not":                   {at(3, 3, 4, 5, 5, 5), -1},
		"the window begins behind the work":   {at(0, 5, 9, 9, 9, 9, 9, 9), 2},
		"one tick of the window is not spent": {at(0, 5, 9, 10, 10, 10, 10, 10), 2},
	} {
		t.Run(why, func(t *testing.T) {
			got, ok := quiet.since(row.samples)
			if ok != (row.want >= 0) {
				t.Fatalf("quiet is %v", ok)
			}
			if ok && !got.Equal(row.samples[row.want].at) {
				t.Errorf("quiet since %s, want %s", got.Sub(start), row.samples[row.want].at.Sub(start))
			}
		})
	}
}

func TestStopped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	sleeper := exec.CommandContext(t.Context(), "sleep", "100")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	pid := sleeper.Process.Pid
	if stopped, err := Stopped(pid); stopped || err != nil {
		t.Errorf("before the signal: %v, %v", stopped, err)
	}
	if err := sleeper.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := AwaitStopped(pid); err != nil {
		t.Error(err)
	}
	_ = sleeper.Process.Kill()
	_ = sleeper.Wait()
	if _, err := Stopped(pid); err == nil {
		t.Error("no error for a process that has ended")
	}
}
