//go:build unix

package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// Only one supervisor may exist at a time, so this is a single test.
func TestSupervisor(t *testing.T) {
	logs, run := t.TempDir(), t.TempDir()
	s := New(logs, run)
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		s.Reap()
	}()
	if err := s.Run(Process{Name: "good", Path: "/bin/sh", Args: []string{"-c", "echo $X"}, Env: []string{"X=1", "PATH=/bin"}}); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(filepath.Join(logs, "good.log")); string(got) != "1\n" {
		t.Errorf("log: got %q, want the value of X", got)
	}
	if err := s.Run(Process{Name: "bad", Path: "/bin/sh", Args: []string{"-c", "exit 3"}}); err == nil || !strings.Contains(err.Error(), "status 3") {
		t.Errorf("a process that fails: got %v, want its status", err)
	}
	if err := s.Run(Process{Name: "none", Path: "/does/not/exist"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: got %v", err)
	}
	s.Keep(Process{Name: "short", Path: "/bin/sh", Args: []string{"-c", "echo again"}})
	s.Keep(Process{Name: "stubborn", Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; echo trapped; while :; do sleep 1; done"}})
	waitLog(t, filepath.Join(logs, "short.log"), "again\nagain\n")
	waitLog(t, filepath.Join(logs, "stubborn.log"), "trapped\n")
	s.Stop(10 * time.Millisecond)
	<-reaped
	ids, err := proc.Recorded(run)
	if err != nil {
		t.Fatal(err)
	}
	for name, id := range ids {
		if id.Alive() {
			t.Errorf("%s runs after Stop", name)
		}
	}
}

func waitLog(t *testing.T, path, want string) {
	t.Helper()
	err := poll.For(20*time.Second, 5*time.Millisecond, func() error {
		got, err := os.ReadFile(path)
		if err == nil && !strings.HasPrefix(string(got), want) {
			err = errors.New("it holds " + string(got))
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
