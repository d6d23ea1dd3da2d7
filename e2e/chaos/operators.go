package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/skew"
)

// operators are the replicas of the operator. They are safe for concurrent use.
type operators struct {
	binary, log string
	args        []string
	kubeconfigs []string      // of each replica
	metrics     []string      // metrics address of each replica
	grace       time.Duration // termination grace period of a replica

	mu       sync.Mutex
	replicas []*replica // nil = down
	started  time.Time  // start time of the most recently started replica
	died     error      // unexpected exit
}

// replica is one process.
type replica struct {
	command *exec.Cmd
	ending  bool // it was sent a signal
	exited  chan struct{}
}

// newOperators determines whether the operator supports leader election. It starts none; the caller must set
// kubeconfigs.
func newOperators(ctx context.Context, binary, log string, replicas int) (*operators, error) {
	help, err := exec.CommandContext(ctx, binary, "run", "--help").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("run %s --help: %w: %s", binary, err, help)
	}
	o := &operators{binary: binary, log: log, grace: 60 * time.Second, args: []string{"run", "--log-format=text", "--log-level=verbose"}}
	elects := strings.Contains(string(help), "--leader-elect-resource-namespace")
	if replicas == 0 {
		replicas = 1
		if elects {
			replicas = 2
		}
	}
	if replicas > 1 {
		if !elects {
			return nil, fmt.Errorf("--replicas %d: this operator has no leader election", replicas)
		}
		o.args = append(o.args, "--leader-elect-resource-namespace=default")
	}
	if strings.Contains(string(help), "--seal-namespace") {
		o.args = append(o.args, "--seal-namespace=default")
	}
	o.replicas = make([]*replica, replicas)
	for range replicas {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		o.metrics = append(o.metrics, address)
	}
	return o, nil
}

// start starts all replicas that are down.
func (o *operators) start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, r := range o.replicas {
		if r != nil {
			continue
		}
		if err := o.launch(i); err != nil {
			return err
		}
	}
	return nil
}

func (o *operators) launch(i int) error {
	file, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	args := append(slices.Clone(o.args), "--kubeconfig", o.kubeconfigs[i], "--metrics-bind-address", o.metrics[i])
	r := &replica{command: exec.Command(o.binary, args...), exited: make(chan struct{})} //nolint:noctx // end ends it
	r.command.Stdout, r.command.Stderr = file, file
	r.command.Env = append(os.Environ(), skew.Variable+"="+o.clock(i))
	r.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is meant for us only
	if err := r.command.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	o.replicas[i], o.started = r, time.Now()
	go o.await(i, r)
	return nil
}

// clock is the file with the clock offset of a replica.
func (o *operators) clock(i int) string { return fmt.Sprintf("%s.clock-%d", o.log, i+1) }

// jump sets the clock of a replica ahead by offset until back is called. Of two concurrent jumps, the last one applies.
func (o *operators) jump(i int, offset time.Duration) (back func() error, err error) {
	return func() error { return skew.Set(o.clock(i), 0) }, skew.Set(o.clock(i), offset)
}

// await waits for a replica. With leader election it may exit when it loses the Lease, and is restarted as by
// Kubernetes.
func (o *operators) await(i int, r *replica) {
	err := r.command.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer close(r.exited)
	o.replicas[i] = nil
	if r.ending {
		return
	}
	if len(o.replicas) == 1 {
		o.died = fmt.Errorf("the operator exited unexpectedly: %w", err)
		return
	}
	o.died = errors.Join(o.died, o.launch(i))
}

// failure returns why an operator has unexpectedly exited, or nil.
func (o *operators) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.died
}

// age is how long all operators have been running.
func (o *operators) age() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.started)
}

// end sends the signal to one replica, and waits until it has exited.
func (o *operators) end(i int, signal syscall.Signal) error {
	o.mu.Lock()
	r := o.replicas[i]
	if r == nil || r.ending { // the other fault lane has sent a signal
		o.mu.Unlock()
		return nil
	}
	r.ending = true
	err := r.send(signal)
	o.mu.Unlock()
	if err != nil {
		return err
	}
	return r.wait(signal, o.grace)
}

// freeze stops a replica with SIGSTOP until thaw is called. thaw is never nil.
func (o *operators) freeze(i int) (thaw func() error, err error) {
	o.mu.Lock()
	r := o.replicas[i]
	o.mu.Unlock()
	if r == nil {
		return func() error { return nil }, nil
	}
	return func() error { return r.send(syscall.SIGCONT) }, r.send(syscall.SIGSTOP)
}

// send sends the signal, unless the replica has exited.
func (r *replica) send(signal syscall.Signal) error {
	if err := r.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to the operator: %w", signal, err)
	}
	return nil
}

func (r *replica) wait(signal syscall.Signal, grace time.Duration) error {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.exited:
		return nil
	case <-timer.C:
		return fmt.Errorf("the operator still runs %s after %s: %w", grace, signal, r.command.Process.Kill())
	}
}

// stop stops all replicas.
func (o *operators) stop() error {
	var errs []error
	for i := range o.replicas {
		errs = append(errs, o.end(i, syscall.SIGTERM))
	}
	return errors.Join(errs...)
}
