package contender

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/floor"
	"github.com/templater-dev/templater/e2e/bench/procstat"
	"github.com/templater-dev/templater/e2e/bench/workload"
)

// The names of the contenders.
const (
	FloorName    = "floor"
	CheapestName = "cheapest floor"
	OperatorName = "templater"
)

// Contender is one of the compared programs, with one task. It runs once; to run it again, create a new one.
type Contender interface {
	Name() string
	// Start starts the process, and returns once it reports that it works.
	Start(ctx context.Context) error
	// Begin starts the process on a new task, and returns once it works on it.
	Begin(ctx context.Context) error
	// Hold pauses the process, and returns once it has stopped, so that later changes wait for it. Release resumes it.
	Hold() error
	Release() error
	// Process is the running process.
	Process() *Process
	// Stop ends the process. The objects that it created are kept.
	Stop() error
}

// Options configure a contender.
type Options struct {
	Bed     *bed.Bed
	Task    workload.Task
	Dir     string   // for logs
	Binary  string   // the built operator
	Workers int      // of the floor
	Flags   []string // of the operator, in addition to those that it needs
}

// Operator returns the operator with its defaults and the flags of the options.
func Operator(o Options) Contender { return &operator{Options: o} }

// Floor returns the floor that makes the same requests as the operator.
func Floor(o Options) Contender { return &bare{Options: o, name: FloorName} }

// CheapestFloor returns the floor that makes the cheapest requests.
func CheapestFloor(o Options) Contender { return &bare{Options: o, name: CheapestName} }

// running is the state that both kinds of contenders share while they run.
type running struct{ process *Process }

func (r *running) Process() *Process { return r.process }

func (r *running) Hold() error {
	if err := r.process.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if err := procstat.AwaitStopped(r.process.PID()); err != nil {
		return fmt.Errorf("hold the %s: %w", r.process.name, err)
	}
	return nil
}

func (r *running) Release() error { return r.process.signal(syscall.SIGCONT) }

func (r *running) Stop() error {
	if r.process == nil {
		return nil
	}
	return r.process.stop()
}

type operator struct {
	Options
	running
}

func (c *operator) Name() string { return OperatorName }

func (c *operator) Start(ctx context.Context) error {
	args := append([]string{c.Binary, "run", "--kubeconfig", c.Bed.Kubeconfig}, c.Flags...)
	var err error
	if c.process, err = start(OperatorName, c.Dir, args...); err != nil {
		return err
	}
	return c.process.says(ctx, `"msg":"running"`)
}

func (c *operator) Begin(ctx context.Context) error {
	if err := c.Start(ctx); err != nil {
		return err
	}
	if err := c.Bed.AddController(ctx, c.Task); err != nil {
		return err
	}
	return c.Bed.AwaitController(ctx, c.Task.Name)
}

type bare struct {
	Options
	running
	name string
}

func (c *bare) Name() string { return c.name }

func (c *bare) Start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	task, err := json.Marshal(c.Task)
	if err != nil {
		return err
	}
	args := []string{self, "floor", "--kubeconfig", c.Bed.Kubeconfig, "--task", string(task), "--workers", fmt.Sprint(c.Workers)}
	if c.name == CheapestName {
		args = append(args, "--cheapest")
	}
	c.process, err = start(FloorName, c.Dir, args...)
	if err != nil {
		return err
	}
	return c.process.says(ctx, floor.Synced+"\n")
}

// Begin is the same as Start: the floor needs nothing in the cluster.
func (c *bare) Begin(ctx context.Context) error { return c.Start(ctx) }
