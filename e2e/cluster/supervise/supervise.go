//go:build unix

// Package supervise keeps a set of processes running. It can be PID 1: it reaps all children, including adopted ones.
package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

const restartDelay = 500 * time.Millisecond

// Process is a program to run.
type Process struct {
	Name string // determines the log file
	Path string
	Args []string // without argv[0]
	Env  []string // added to the current environment
}

// Supervisor starts processes and reaps them. Only one may exist at a time, because it waits for all children of the
// process.
type Supervisor struct {
	logDir string
	runDir string // empty: identities are not recorded

	mu       sync.Mutex
	waiting  map[int]chan syscall.WaitStatus
	stopping bool
	start    chan startRequest
}

// New returns a supervisor that writes NAME.log files to logDir and the identities of the processes from Keep to
// runDir, unless that is empty.
func New(logDir, runDir string) *Supervisor {
	s := &Supervisor{
		logDir:  logDir,
		runDir:  runDir,
		waiting: map[int]chan syscall.WaitStatus{},
		start:   make(chan startRequest),
	}
	go s.starter()
	return s
}

// Keep starts the process, and restarts it whenever it ends, until Stop.
func (s *Supervisor) Keep(p Process) {
	go func() {
		for {
			if err := s.Run(p); err != nil {
				s.note(p, err)
			}
			if s.isStopping() {
				return
			}
			<-time.After(restartDelay)
		}
	}()
}

// Run starts the process once and returns when it has ended.
func (s *Supervisor) Run(p Process) error {
	done, err := s.launch(p)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	status := <-done
	if status.ExitStatus() != 0 {
		return fmt.Errorf("%s ended: status %d, signal %d", p.Name, status.ExitStatus(), status.Signal())
	}
	return nil
}

// Stop terminates all processes, and kills those still running after grace.
func (s *Supervisor) Stop(grace time.Duration) {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.signal(syscall.SIGTERM)
	if s.waitNone(grace) != nil {
		s.signal(syscall.SIGKILL)
		_ = s.waitNone(10 * time.Second) // nothing more can be done if one survives SIGKILL
	}
}

func (s *Supervisor) waitNone(limit time.Duration) error {
	return poll.For(limit, 5*time.Millisecond, func() error {
		if n := s.running(); n > 0 {
			return fmt.Errorf("%d processes run", n)
		}
		return nil
	})
}

func (s *Supervisor) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

func (s *Supervisor) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// signal reaches children only: a PID in s.waiting is not reaped yet, so it cannot belong to another process.
func (s *Supervisor) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := range s.waiting {
		_ = syscall.Kill(pid, sig) // fails only if it has just ended
	}
}

func (s *Supervisor) note(p Process, err error) {
	file, openErr := s.openLog(p.Name)
	if openErr != nil {
		return
	}
	defer file.Close()
	fmt.Fprintf(file, "supervise: %v\n", err)
}

func (s *Supervisor) openLog(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(s.logDir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func (s *Supervisor) record(p Process, pid int) {
	if s.runDir == "" {
		return
	}
	err := proc.Record(s.runDir, p.Name, pid)
	if err != nil && !errors.Is(err, proc.ErrGone) { // no record needed if it ended at once
		s.note(p, err)
	}
}
