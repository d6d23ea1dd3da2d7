//go:build unix

package supervise

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

type startRequest struct {
	process Process
	answer  chan startAnswer
}

type startAnswer struct {
	done chan syscall.WaitStatus
	err  error
}

// starter starts every process from one thread that never ends: on Linux, children are killed when the thread that
// started them ends.
func (s *Supervisor) starter() {
	runtime.LockOSThread()
	for request := range s.start {
		done, err := s.fork(request.process)
		request.answer <- startAnswer{done, err}
	}
}

func (s *Supervisor) launch(p Process) (chan syscall.WaitStatus, error) {
	request := startRequest{p, make(chan startAnswer, 1)}
	s.start <- request
	answer := <-request.answer
	return answer.done, answer.err
}

// fork uses the bare system call, because os.Process would wait for the child itself and miss it if Reap comes first.
func (s *Supervisor) fork(p Process) (chan syscall.WaitStatus, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	log, err := s.openLog(p.Name)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.mu.Lock() // Reap waits until the child is known
	defer s.mu.Unlock()
	if s.stopping {
		return nil, errors.New("stopping")
	}
	pid, err := syscall.ForkExec(p.Path, append([]string{p.Path}, p.Args...), &syscall.ProcAttr{
		Env:   environment(p.Env),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   childAttributes(),
	})
	if err != nil {
		return nil, err
	}
	done := make(chan syscall.WaitStatus, 1)
	s.waiting[pid] = done
	s.record(p, pid)
	return done, nil
}

// environment returns our environment with the variables in set replaced: of two variables with the same name, a Go
// program uses the first.
func environment(set []string) []string {
	names := map[string]bool{}
	for _, variable := range set {
		name, _, _ := strings.Cut(variable, "=")
		names[name] = true
	}
	inherited := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return names[name]
	})
	return append(inherited, set...)
}

// Reap reaps ended children, until there are none left after Stop.
func (s *Supervisor) Reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.ECHILD) && s.isStopping():
			return
		case errors.Is(err, syscall.ECHILD):
			<-time.After(20 * time.Millisecond) // no child yet
		case err == nil && (status.Exited() || status.Signaled()):
			s.deliver(pid, status)
		}
	}
}

func (s *Supervisor) deliver(pid int, status syscall.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, ours := s.waiting[pid]; ours {
		done <- status
		delete(s.waiting, pid)
	}
}
