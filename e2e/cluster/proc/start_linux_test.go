package proc

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

const leaderless = "TEMPLATER_TEST_LEADERLESS"

// In a child process of the test, the first thread ends while another one keeps running.
func init() {
	if os.Getenv(leaderless) == "" {
		return
	}
	runtime.LockOSThread() // an init function runs on the first thread
	go func() {
		fmt.Println("ready")
		select {}
	}()
	time.AfterFunc(time.Minute, func() { os.Exit(1) })      // in case it is never killed
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0) // does not return
}

func TestProcessWithExitedMainThreadIsAlive(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), leaderless+"=1")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stat := func() string {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command.Process.Pid))
		return string(data)
	}
	err = poll.For(10*time.Second, 5*time.Millisecond, func() error {
		if !strings.Contains(stat(), ") Z ") {
			return fmt.Errorf("the first thread runs: %s", stat())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := Of(command.Process.Pid)
	if err != nil || !id.Alive() {
		t.Fatalf("error %v, %s", err, stat())
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	err = poll.For(10*time.Second, 5*time.Millisecond, func() error { // a zombie until Wait
		if id.Alive() {
			return fmt.Errorf("it is alive: %s", stat())
		}
		return nil
	})
	if err != nil || !strings.Contains(stat(), ") Z ") {
		t.Errorf("error %v, %s", err, stat())
	}
	_ = command.Wait() // ends by a signal
}
