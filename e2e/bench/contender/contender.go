package contender

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/floor"
	"github.com/templater-dev/templater/e2e/bench/procstat"
	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// The names of the two.
const (
	FloorName    = "floor"
	OperatorName = "templater"
)

// Contender is one of the two, with one task. It runs once; a contender that is
// to run again is made anew.
type Contender interface {
	Name() string
	// Start starts the process, and returns when it says that it works.
	Start(ctx context.Context) error
	// Begin starts the process on its task, which is a new one, and returns when it works at that.
	Begin(ctx context.Context) error
	// Hold stops the process in its tracks, and returns when it stands still, so that what
	// happens after that waits for it. Release lets it go on.
	Hold() error
	Release() error
	// Process is the one that runs.
	Process() *Process
	// Stop ends the process. What it has made stays.
	Stop() error
}

// Options say how to run a contender.
type Options struct {
	Bed     *bed.Bed
	Task    workload.Task
	Dir     string   // for logs
	Binary  string   // the built operator
	Workers int      // of the floor
	Flags   []string // of the operator, beyond those it needs
}

// Operator returns the operator with its defaults, but for the flags of the options.
func Operator(o Options) Contender { return &operator{Options: o} }

// Floor returns the floor.
func Floor(o Options) Contender { return &bare{Options: o} }

// running is what both have in common once they run.
type running struct{ process *Process }

func (r *running) Process() *Process { return r.process }

func (r *running) Hold() error {
	if err := r.process.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return poll.For(time.Minute, time.Millisecond, func() error {
		stopped, err := procstat.Stopped(r.process.PID())
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return nil
		case err != nil:
			return poll.Stop(err)
		case !stopped:
			return fmt.Errorf("the %s still runs after SIGSTOP", r.process.name)
		}
		return nil
	})
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
}

func (c *bare) Name() string { return FloorName }

func (c *bare) Start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	task, err := json.Marshal(c.Task)
	if err != nil {
		return err
	}
	c.process, err = start(FloorName, c.Dir, self, "floor", "--kubeconfig", c.Bed.Kubeconfig, "--task", string(task), "--workers", fmt.Sprint(c.Workers))
	if err != nil {
		return err
	}
	return c.process.says(ctx, floor.Synced+"\n")
}

// Begin is the same as Start: the floor needs nothing in the cluster.
func (c *bare) Begin(ctx context.Context) error { return c.Start(ctx) }
