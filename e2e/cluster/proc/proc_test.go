package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func startSleep(t *testing.T) ID {
	t.Helper()
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // ends by a signal
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill() // already ended, unless the test failed
		<-ended
	})
	id, err := Of(command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestStop(t *testing.T) {
	id := startSleep(t)
	if !id.Alive() {
		t.Fatal("a running process is not alive")
	}
	for range 2 { // the second time it has already ended, which is fine
		if err := id.Stop(syscall.SIGTERM, 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if id.Alive() {
		t.Error("a stopped process is alive")
	}
}

// A reused PID must not be signaled.
func TestSignalIgnoresReusedPID(t *testing.T) {
	id := startSleep(t)
	for why, other := range map[string]ID{
		"it started at another time": {PID: id.PID, Start: id.Start + "0", Boot: id.Boot},
		"the machine was restarted":  {PID: id.PID, Start: id.Start, Boot: id.Boot + "0"},
	} {
		if err := other.Signal(syscall.SIGKILL); !errors.Is(err, ErrGone) {
			t.Errorf("%s: got %v, want %v", why, err, ErrGone)
		}
	}
	if !id.Alive() {
		t.Error("the process was killed on behalf of another")
	}
}

func TestRecord(t *testing.T) {
	dir := t.TempDir()
	if err := Record(dir, "self", os.Getpid()); err != nil {
		t.Fatal(err)
	}
	ids, err := Recorded(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != 1 || !ids["self"].Alive() {
		t.Errorf("got %v, want this process, alive", ids)
	}
	none, err := Recorded(dir + "/absent")
	if err != nil || len(none) != 0 {
		t.Errorf("absent folder: got %v, %v, want nothing", none, err)
	}
}
