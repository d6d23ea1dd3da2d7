package contender

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/floor"
	"github.com/templater-dev/templater/e2e/bench/workload"
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
	// Start starts the process and returns when it is ready to begin.
	Start(ctx context.Context) error
	// Begin makes it begin its task; it returns at once.
	Begin(ctx context.Context) error
	// Pause makes it leave alone what changes from now on, Resume makes it look at everything.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Continue starts the process on a task that was begun before, instead of Start
	// and Begin. It returns when the process says that it works.
	Continue(ctx context.Context) error
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

type operator struct {
	Options
	process *Process
}

func (c *operator) Name() string { return OperatorName }

func (c *operator) Process() *Process { return c.process }

func (c *operator) Start(ctx context.Context) error {
	var err error
	args := append([]string{c.Binary, "run", "--kubeconfig", c.Bed.Kubeconfig}, c.Flags...)
	if c.process, err = start(OperatorName, c.Dir, args...); err != nil {
		return err
	}
	return c.process.says(ctx, `"msg":"running"`)
}

// Continue is the same as Start: the TemplateController is still there.
func (c *operator) Continue(ctx context.Context) error { return c.Start(ctx) }

func (c *operator) Begin(ctx context.Context) error { return c.Bed.AddController(ctx, c.Task) }

func (c *operator) Pause(ctx context.Context) error {
	if err := c.Bed.PatchController(ctx, c.Task.Name, map[string]any{"suspend": true}); err != nil {
		return err
	}
	return c.Bed.AwaitController(ctx, c.Task.Name)
}

func (c *operator) Resume(ctx context.Context) error {
	return c.Bed.PatchController(ctx, c.Task.Name, map[string]any{"suspend": false})
}

func (c *operator) Stop() error {
	if c.process == nil {
		return nil
	}
	return c.process.stop()
}

type bare struct {
	Options
	process *Process
}

func (c *bare) Name() string { return FloorName }

func (c *bare) Process() *Process { return c.process }

func (c *bare) Start(ctx context.Context) error { return c.run(ctx, floor.Running) }

func (c *bare) Continue(ctx context.Context) error { return c.run(ctx, floor.Synced, "--begin") }

func (c *bare) run(ctx context.Context, until string, flags ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	task, err := json.Marshal(c.Task)
	if err != nil {
		return err
	}
	args := []string{self, "floor", "--kubeconfig", c.Bed.Kubeconfig, "--task", string(task), "--workers", fmt.Sprint(c.Workers)}
	if c.process, err = start(FloorName, c.Dir, append(args, flags...)...); err != nil {
		return err
	}
	return c.process.says(ctx, until+"\n")
}

func (c *bare) Begin(context.Context) error { return c.process.command(floor.Begin) }

func (c *bare) Pause(ctx context.Context) error {
	if err := c.process.command(floor.Pause); err != nil {
		return err
	}
	return c.process.says(ctx, floor.Paused+"\n")
}

func (c *bare) Resume(context.Context) error { return c.process.command(floor.Resume) }

func (c *bare) Stop() error {
	if c.process == nil {
		return nil
	}
	return c.process.stop()
}
