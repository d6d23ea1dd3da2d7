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
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/workload"
)

// oneConfigMap is the task of most scenarios.
var oneConfigMap = workload.Task{Name: "items", Kind: workload.Item, ChildKind: workload.ConfigMap, Children: 1}

func (b *Bench) configMap(ctx context.Context) error {
	return b.throughput(ctx, throughput{name: "configmap", task: oneConfigMap, parents: b.scaled(2000)})
}

func (b *Bench) update(ctx context.Context) error {
	return b.throughput(ctx, throughput{name: "update", task: oneConfigMap, parents: b.scaled(2000), update: true})
}

func (b *Bench) pod(ctx context.Context) error {
	if b.Bed.Cluster == nil {
		b.Report.Note("scenario pod left out: it needs Pods that are played by kwok, which the cluster of --kubeconfig may not have")
		return nil
	}
	task := workload.Task{Name: "pods", Kind: workload.Item, ChildKind: workload.Pod, Children: 1}
	return b.throughput(ctx, throughput{name: "pod", task: task, parents: b.scaled(2000)})
}

func (b *Bench) ten(ctx context.Context) error {
	task := workload.Task{Name: "tens", Kind: workload.Item, ChildKind: workload.ConfigMap, Children: 10}
	return b.throughput(ctx, throughput{name: "ten", task: task, parents: b.scaled(200)})
}

// throughput is how fast a contender deals with parents that are all there, and
// what that costs.
type throughput struct {
	name    string
	task    workload.Task
	parents int
	update  bool // measures a change of all parents, and not their creation
}

func (b *Bench) throughput(ctx context.Context, t throughput) error {
	for round := range b.Rounds {
		var examples []example
		for _, c := range b.contenders(t.task, round) {
			s, err := b.round(ctx, c, t)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name(), err)
			}
			b.addSpan(c, t, s)
			b.Bed.Say("round %d of %d, %s: %d parents in %.2f s, %.2f s of CPU, servers %.2f s", round+1, b.Rounds, c.Name(), t.parents, s.wall.Seconds(), s.cpu.Seconds(), s.servers.Seconds())
			one, err := b.example(ctx, t.task)
			if err != nil {
				return err
			}
			examples = append(examples, one)
			if err := b.Bed.Clear(ctx, t.task.Kind); err != nil {
				return err
			}
		}
		if diff := examples[0].differs(examples[1]); diff != "" {
			return fmt.Errorf("the floor writes something else than templater, adapt package workload: %s", diff)
		}
	}
	return nil
}

func (b *Bench) addSpan(c contender.Contender, t throughput, s span) {
	perParent := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(t.parents) }
	b.add(c, report.Figure{Scenario: t.name, Measure: "throughput", Unit: "parents/s", Target: report.RatioAtLeast(0.95)}, float64(t.parents)/s.wall.Seconds())
	if s.cpu > 0 {
		b.add(c, report.Figure{Scenario: t.name, Measure: "CPU", Unit: "ms/parent", Target: report.RatioAtMost(1.5)}, perParent(s.cpu))
	}
	if s.servers > 0 {
		b.add(c, report.Figure{Scenario: t.name, Measure: "CPU of API server and etcd", Unit: "ms/parent"}, perParent(s.servers))
	}
}

// round is one turn of a contender. Its parents and children are left.
func (b *Bench) round(ctx context.Context, c contender.Contender, t throughput) (s span, err error) {
	if err := b.Bed.Fill(ctx, t.task.Kind, 0, t.parents); err != nil {
		return span{}, err
	}
	if err := b.Bed.Settle(ctx); err != nil {
		return span{}, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := c.Start(ctx); err != nil {
		return span{}, err
	}
	w := work{set: bed.Set(t.task.Kind), count: t.parents, done: inOrder(t.task, workload.Red), begin: c.Begin}
	if s, err = b.measure(ctx, c, w); err != nil {
		return span{}, err
	}
	color := workload.Red
	if t.update {
		color = workload.Blue
		if s, err = b.change(ctx, c, t); err != nil {
			return span{}, err
		}
	}
	return s, errors.Join(b.verify(ctx, t, color), flawless(c))
}

// change changes all parents while the contender pauses, and measures from where it goes on.
func (b *Bench) change(ctx context.Context, c contender.Contender, t throughput) (span, error) {
	if err := c.Pause(ctx); err != nil {
		return span{}, err
	}
	if err := b.Bed.Paint(ctx, t.task.Kind, t.parents, workload.Blue); err != nil {
		return span{}, err
	}
	if err := b.Bed.Settle(ctx); err != nil {
		return span{}, err
	}
	return b.measure(ctx, c, work{set: bed.Set(t.task.Kind), count: t.parents, done: inOrder(t.task, workload.Blue), begin: c.Resume})
}

// inOrder tells whether a parent's status is as wanted, and so its children are.
func inOrder(task workload.Task, color string) func(*observe.Object) bool {
	return func(o *observe.Object) bool {
		names, _ := o.Status.Children.([]any)
		running := task.ChildKind != workload.Pod || len(o.Status.Phases) == task.Children &&
			!slices.ContainsFunc(o.Status.Phases, func(phase string) bool { return phase != "Running" })
		return o.Status.Color == color && len(names) == task.Children && running && o.Is(task.ReadyCondition())
	}
}

// verify makes sure that all children are there and as wanted, behind the clock.
func (b *Bench) verify(ctx context.Context, t throughput, color string) error {
	children, err := b.Bed.Observer.List(ctx, bed.Children(t.task))
	if err != nil {
		return err
	}
	if want := t.parents * t.task.Children; len(children.Items) != want {
		return fmt.Errorf("the statuses are as wanted, but there are %d children and not %d", len(children.Items), want)
	}
	for _, child := range children.Items {
		if t.task.ChildKind == workload.ConfigMap && child.Data["color"] != color {
			return fmt.Errorf("the statuses are as wanted, but child %s is not", child.Metadata.Name)
		}
	}
	return nil
}
