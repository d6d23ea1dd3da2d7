package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/observe"
	"github.com/templater-dev/templater/e2e/bench/procstat"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// Number of kinds in scenario controllers, and of TemplateControllers and parents per kind.
const (
	manyKinds   = 50
	sharingKind = 10
	parentsEach = 10
)

func (b *Bench) controllers(ctx context.Context) (err error) {
	kinds, tasks := manyTasks(b.scaled(manyKinds))
	b.Bed.Say("preparing %d kinds", len(kinds))
	if err := b.Bed.Define(ctx, kinds...); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := b.Bed.Fill(ctx, kind, 0, parentsEach); err != nil {
			return err
		}
	}
	if err := b.Bed.Settle(ctx); err != nil {
		return err
	}
	if err := b.manyBegin(ctx, tasks); err != nil {
		return err
	}
	if err := b.manyContinue(ctx, tasks); err != nil {
		return err
	}
	if err := b.Bed.Clear(ctx, kinds...); err != nil {
		return err
	}
	return b.Bed.Undefine(ctx, kinds...)
}

// manyTasks are several tasks per kind, each with its own ready condition.
func manyTasks(count int) (kinds []string, tasks []workload.Task) {
	for k := range count {
		kind := fmt.Sprintf("Kind%02d", k)
		kinds = append(kinds, kind)
		for j := range sharingKind {
			tasks = append(tasks, workload.Task{
				Name: fmt.Sprintf("kind%02d-%d", k, j), Kind: kind, ChildKind: workload.ConfigMap, Children: 1,
				Condition: fmt.Sprintf("Ready%d", j), NoStatus: true,
			})
		}
	}
	return kinds, tasks
}

// manyBegin creates the TemplateControllers while an operator is running.
func (b *Bench) manyBegin(ctx context.Context, tasks []workload.Task) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit(len(tasks)*parentsEach))
	defer cancel()
	c := contender.Operator(b.options(tasks[0]))
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := c.Start(ctx); err != nil {
		return err
	}
	children, err := b.watch(ctx, work{
		set:   observe.Set{Resource: tasks[0].ChildResource(), Namespace: workload.Namespace, Selector: workload.Selector},
		count: len(tasks) * parentsEach, done: func(*observe.Object) bool { return true },
	})
	if err != nil {
		return err
	}
	all := work{set: bed.ControllerSet(), count: len(tasks), done: func(o *observe.Object) bool { return o.Is("Ready") }, begin: func(ctx context.Context) error {
		return b.Bed.AddControllers(ctx, tasks)
	}}
	s, err := b.measure(ctx, c, all)
	if err != nil {
		return err
	}
	b.Bed.Say("%d TemplateControllers: created and Ready after %.2f s, %.2f s of CPU", len(tasks), s.wall.Seconds(), s.cpu.Seconds())
	b.add(c, report.Figure{Scenario: "controllers", Measure: "created to all Ready", Unit: "s"}, s.wall.Seconds())
	if err := outcome(c, children); err != nil {
		return err
	}
	if err := b.awaitConditions(ctx, tasks); err != nil {
		return err
	}
	_, err = rest(ctx, c)
	return err
}

// awaitConditions waits until each parent has the ready conditions of all tasks. Tasks of one kind write concurrently,
// and some retry after a while: an idle contender may have more to do.
func (b *Bench) awaitConditions(ctx context.Context, tasks []workload.Task) error {
	waiting := slices.Clone(tasks)
	return poll.Until(ctx, 100*time.Millisecond, func() error {
		for ; len(waiting) > 0; waiting = waiting[1:] {
			task := waiting[0]
			parents, err := b.Bed.Observer.List(ctx, bed.Set(task.Kind))
			if err != nil {
				return err
			}
			for _, parent := range parents.Items {
				if !parent.Is(task.Condition) {
					return fmt.Errorf("%s %s has no condition %s that is True", task.Kind, parent.Metadata.Name, task.Condition)
				}
			}
		}
		return nil
	})
}

// manyContinue restarts an operator, and changes one TemplateController.
func (b *Bench) manyContinue(ctx context.Context, tasks []workload.Task) (err error) {
	if err := b.Bed.Settle(ctx); err != nil {
		return err
	}
	c := contender.Operator(b.options(tasks[0]))
	defer func() { err = errors.Join(err, c.Stop()) }()
	s, err := b.startUp(ctx, c)
	if err != nil {
		return err
	}
	memory, err := procstat.MemoryOf(c.Process().PID())
	if err != nil {
		return err
	}
	b.Bed.Say("%d TemplateControllers: quiet after a restart after %.2f s, %.2f s of CPU, %d MiB", len(tasks), s.quiet.Seconds(), s.cpu.Seconds(), memory.Resident>>20)
	b.add(c, report.Figure{Scenario: "controllers", Measure: "restart to quiet", Unit: "s"}, s.quiet.Seconds())
	b.add(c, report.Figure{Scenario: "controllers", Measure: "CPU of a restart", Unit: "s"}, s.cpu.Seconds())
	b.add(c, report.Figure{Scenario: "controllers", Measure: "resident", Unit: "MiB"}, float64(memory.Resident)/(1<<20))
	if !b.needsAudit("requests after a change of one of many TemplateControllers") {
		return nil
	}
	return b.changeOne(ctx, c, tasks[len(tasks)/2])
}

// changeOne changes one TemplateController, which must affect only its own parents.
func (b *Bench) changeOne(ctx context.Context, c contender.Contender, task workload.Task) error {
	mark, err := b.mark()
	if err != nil {
		return err
	}
	if _, err := b.silence(ctx, mark, 0); err != nil { // on a busy machine, watches begin late
		return err
	}
	if mark, err = b.mark(); err != nil {
		return err
	}
	if err := b.Bed.PatchController(ctx, task.Name, map[string]any{"values": map[string]any{"tint": "new"}}); err != nil {
		return err
	}
	if err := b.Bed.AwaitController(ctx, task.Name); err != nil {
		return err
	}
	events, err := b.silence(ctx, mark, 0)
	if err != nil {
		return err
	}
	b.Bed.Say("one of them changes: %s", tally(events))
	b.add(c, report.Figure{Scenario: "controllers", Measure: "requests when one changes", Target: report.Exactly(parentsEach)}, float64(len(events)))
	b.add(c, report.Figure{Scenario: "controllers", Measure: "requests for others' parents", Target: report.Exactly(0)}, float64(len(strangers(events, task))))
	return nil
}

// strangers are the requests for objects other than the children and parents of the task.
func strangers(events []audit.Event, task workload.Task) []audit.Event {
	own := map[string]bool{}
	for i := range parentsEach {
		parent := workload.ParentName(i)
		own[task.Parents().Resource+"/"+parent] = true
		own[task.ChildResource().Resource+"/"+task.ChildName(parent, 0)] = true
	}
	return slices.DeleteFunc(slices.Clone(events), func(e audit.Event) bool { return own[e.ObjectRef.Resource+"/"+e.ObjectRef.Name] })
}
