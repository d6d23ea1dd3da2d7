// Package contender starts and stops the compared programs: the operator and the floor.
package contender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/bench/procstat"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// Process is a process that was started, and its log file.
type Process struct {
	name   string
	cmd    *exec.Cmd
	log    string // path
	exited chan struct{}
}

func start(name, dir string, args ...string) (*Process, error) {
	file, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &Process{name: name, log: file.Name(), exited: make(chan struct{})}
	p.cmd = exec.Command(args[0], args[1:]...) //nolint:noctx // stop ends it, more gracefully than a context
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is meant for the benchmark only
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // Ended reports how it ended
		close(p.exited)
	}()
	return p, nil
}

// says waits until the log holds the text.
func (p *Process) says(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return poll.Until(ctx, 2*time.Millisecond, func() error {
		data, err := os.ReadFile(p.log)
		if err != nil {
			return poll.Stop(err)
		}
		if bytes.Contains(data, []byte(text)) {
			return nil
		}
		if err := p.Ended(); err != nil {
			return poll.Stop(err)
		}
		return fmt.Errorf("the %s has not said %q; the end of its log: %s", p.name, text, tail(data))
	})
}

// Lines returns the lines of the log that hold all the texts.
func (p *Process) Lines(texts ...string) ([]string, error) {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return nil, fmt.Errorf("read the log of the %s: %w", p.name, err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ended returns an error if the process ended unexpectedly.
func (p *Process) Ended() error {
	select {
	case <-p.exited:
		data, _ := os.ReadFile(p.log) // the error to report is that of the process
		return fmt.Errorf("the %s has ended: %s; the end of its log: %s", p.name, p.cmd.ProcessState, tail(data))
	default:
		return nil
	}
}

// Account describes a process that is stuck: its state and the end of its log, with a dump of its goroutines. It
// terminates the process.
func (p *Process) Account() string {
	state := "state unknown"
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID())); err == nil {
		for line := range strings.Lines(string(status)) {
			if text, ok := strings.CutPrefix(line, "State:"); ok {
				state = "state " + strings.TrimSpace(text)
			}
		}
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // if it has ended, its log is complete
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
	}
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const enough = 64 << 10
	return fmt.Sprintf("the %s was in %s; its log:\n%s", p.name, state, log[max(0, len(log)-enough):])
}

func tail(log []byte) string {
	const lines = 5
	all := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], " | ")
}

func (p *Process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("send %s to the %s: %w", s, p.name, err)
	}
	return nil
}

// stop ends the process. It is an error if the process has already ended.
func (p *Process) stop() error {
	if err := p.Ended(); err != nil {
		return err
	}
	return p.end()
}

func (p *Process) end() error {
	const grace = 20 * time.Second
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} { // it may be paused
		if err := p.signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
		return fmt.Errorf("the %s still runs %s after SIGTERM: %w", p.name, grace, p.cmd.Process.Kill())
	}
}

// PID is the PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// CPU is the CPU time used by the process so far.
func (p *Process) CPU() (time.Duration, error) { return procstat.CPU(p.PID()) }
