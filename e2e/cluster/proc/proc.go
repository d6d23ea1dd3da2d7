// Package proc identifies processes so that a recorded process is never mistaken for a later one that reuses its PID.
package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// ID identifies a process on this machine uniquely.
type ID struct {
	PID   int
	Start string // when it started, in the system's own units
	Boot  string // boot that Start is relative to
}

// ErrGone means that a process has ended.
var ErrGone = errors.New("process has ended")

// Of returns the identity of a running process, ErrGone if there is none.
func Of(pid int) (ID, error) {
	start, err := startTime(pid)
	if err != nil {
		return ID{}, err
	}
	return ID{PID: pid, Start: start, Boot: bootID()}, nil
}

// Alive reports whether the process is still running; a zombie is not.
func (id ID) Alive() bool {
	now, err := Of(id.PID)
	return err == nil && now == id
}

// Signal sends sig to the process and to no other: on Linux it opens a handle before comparing the identity, so the PID
// cannot be reused in between.
func (id ID) Signal(sig syscall.Signal) error {
	handle, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer handle.Release() //nolint:errcheck // fails only for a released handle
	if !id.Alive() {
		return ErrGone
	}
	if err := handle.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return ErrGone
}

// Stop sends sig, and SIGKILL if the process is still running after grace. It returns once the process has ended; it is
// no error if it ended before.
func (id ID) Stop(sig syscall.Signal, grace time.Duration) error {
	if err := id.Signal(sig); err != nil {
		return ignoreGone(err)
	}
	if id.wait(grace) {
		return nil
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		return ignoreGone(err)
	}
	if id.wait(10 * time.Second) {
		return nil
	}
	return fmt.Errorf("process %d survives SIGKILL", id.PID)
}

func ignoreGone(err error) error {
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

func (id ID) wait(limit time.Duration) bool {
	return poll.For(limit, 5*time.Millisecond, func() error {
		if id.Alive() {
			return fmt.Errorf("process %d runs", id.PID)
		}
		return nil
	}) == nil
}

// Record saves the identity of a running process in dir under name.
func Record(dir, name string, pid int) error {
	id, err := Of(pid)
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name+".json")
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Recorded returns every identity saved in dir, by name; none if dir does not exist.
func Recorded(dir string) (map[string]ID, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	ids := map[string]ID{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var id ID
		if err := json.Unmarshal(data, &id); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		ids[strings.TrimSuffix(filepath.Base(path), ".json")] = id
	}
	return ids, nil
}
