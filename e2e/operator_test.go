package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// operators is the group of all users that operators run as. It has the operator's own role, and permissions on the
// most common kinds of children.
const operators = "templater-e2e"

// classes maps each test to its class.
var classes sync.Map

// classOf returns the class of the operator of a test and its subtests. It is unique, so that many tests can run
// operators on one cluster.
func classOf(t *testing.T) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	class, _ := classes.LoadOrStore(name, nameFor(name))
	return class.(string)
}

// users maps a test to the user of its operator if that is not in the group operators.
var users sync.Map

// operatorOf returns the user that the operator of a test runs as.
func operatorOf(t *testing.T) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	if user, ok := users.Load(name); ok {
		return user.(string)
	}
	return operators + "-" + classOf(t)
}

// groupsOf returns the groups of a user.
func groupsOf(user string) []string {
	if strings.HasPrefix(user, operators+"-") {
		return []string{operators}
	}
	return nil
}

// operator is a running operator. A test has one at a time, which several subtests may share: see of.
type operator struct {
	t       *testing.T
	user    string
	about   string // ID of the scope whose requests count; empty means all
	command *exec.Cmd
	log     string     // path
	exited  chan error // result of Wait
	over    bool
}

// startOperator starts the built operator and returns once it works. It is stopped at the end of the test, and its log
// is shown if the test has failed.
func startOperator(t *testing.T, args ...string) *operator {
	t.Helper()
	return startOperatorAs(t, operatorOf(t), args...)
}

func startOperatorAs(t *testing.T, user string, args ...string) *operator {
	t.Helper()
	return startOperatorIn(t, nil, user, args...)
}

// startOperatorIn starts it with additional environment variables.
func startOperatorIn(t *testing.T, variables []string, user string, args ...string) *operator {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "operator-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	op := &operator{t: t, user: user, log: file.Name(), exited: make(chan error, 1)}
	// Not CommandContext: the operator must outlive the test's context, and is stopped by Stop.
	args = append([]string{"run", "--kubeconfig", env.userKubeconfig(t, user), "--class-name", classOf(t), "--seal-namespace", operators, "--log-format=text", "--log-level=verbose"}, args...)
	op.command = exec.Command(env.binary, args...) //nolint:noctx // see above
	op.command.Stdout, op.command.Stderr = file, file
	op.command.Env = append(os.Environ(), variables...)
	if err := op.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { op.exited <- op.command.Wait() }()
	t.Cleanup(op.finish)
	eventually(t, soon, func() error {
		select {
		case err := <-op.exited:
			op.over = true
			return poll.Stop(fmt.Errorf("the operator has ended: %w", err))
		default:
		}
		if !bytes.Contains(op.logged(), []byte("msg=running")) {
			return fmt.Errorf("the operator is not running: %s", tail(op.logged(), 5))
		}
		return nil
	})
	return op
}

// of returns the operator for a test that shares it: only requests about this scope count, and if the test fails, only
// log lines about it are shown.
func (op *operator) of(s *scope) *operator {
	shared := *op
	shared.t, shared.about = s.t, s.id
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("the operator's log about %s:\n%s", s.id, tail(linesWith(shared.logged(), s.id), 80))
		}
	})
	return &shared
}

// Stop stops the operator as Kubernetes would, and expects a clean exit.
func (op *operator) Stop() {
	op.t.Helper()
	if err := op.end(syscall.SIGTERM); err != nil {
		op.t.Errorf("the operator stopped with an error: %v", err)
	}
}

// Kill kills the operator without warning.
func (op *operator) Kill() {
	op.t.Helper()
	if err := op.end(syscall.SIGKILL); err == nil {
		op.t.Error("the operator ended well before it was killed")
	}
}

func (op *operator) end(signal os.Signal) error {
	if op.over {
		return nil
	}
	op.over = true
	if err := op.command.Process.Signal(signal); err != nil {
		return err
	}
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case err := <-op.exited:
		return err
	case <-timer.C:
		return fmt.Errorf("still running %s after %s: %w", soon, signal, op.command.Process.Kill())
	}
}

// finish runs at the end of a test.
func (op *operator) finish() {
	op.Stop()
	if op.t.Failed() {
		op.t.Logf("the operator's log, %s:\n%s", filepath.Base(op.log), tail(op.logged(), 80))
	}
	if bytes.Contains(op.logged(), []byte("panic in a reconciliation")) {
		op.t.Errorf("a reconciliation has panicked:\n%s", tail(op.logged(), 40))
	}
}

func (op *operator) logged() []byte {
	data, err := os.ReadFile(op.log)
	if err != nil {
		op.t.Error(err)
	}
	return data
}

// waitLogged waits for a log line that contains these texts. Watches are not synchronized: only the operator itself
// knows which of two changes it has observed.
func (op *operator) waitLogged(texts ...string) {
	op.t.Helper()
	eventually(op.t, soon, func() error {
		lines := op.logged()
		for _, text := range texts {
			lines = linesWith(lines, text)
		}
		if len(lines) == 0 {
			return fmt.Errorf("no line of the operator's log holds %q", texts)
		}
		return nil
	})
}

func linesWith(text []byte, part string) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(part)) {
			out = append(out, line...)
		}
	}
	return out
}

func tail(text []byte, lines int) []byte {
	all := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], nil)
}
