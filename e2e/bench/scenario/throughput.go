package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
		b.Report.Note("scenario pod left out: it needs Pods that are simulated by kwok, which the cluster of --kubeconfig may not have")
		return nil
	}
	task := oneConfigMap
	task.ChildKind = workload.Pod
	return b.throughput(ctx, throughput{name: "pod", task: task, parents: b.scaled(2000)})
}

func (b *Bench) ten(ctx context.Context) error {
	task := oneConfigMap
	task.Children = 10
	return b.throughput(ctx, throughput{name: "ten", task: task, parents: b.scaled(200)})
}

// throughput measures how fast a contender reconciles parents that are all new or changed, and at what cost.
type throughput struct {
	name    string
	task    workload.Task // with parents of kind Item
	parents int
	update  bool // measures an update of all parents instead of their creation
}

// portions is the number of batches of parents in a round. The contenders take turns with them, so that all run under
// the same conditions: the speed of a machine changes within seconds.
const portions = 5

// entrant is a contender in a round, with its own kind of parents.
type entrant struct {
	contender.Contender
	task workload.Task
	span span // so far
}

func (b *Bench) throughput(ctx context.Context, t throughput) error {
	twins, peers := t.task, t.task
	twins.Name, twins.Kind = "twins", workload.Twin
	peers.Name, peers.Kind = "peers", workload.Peer
	for round := range b.Rounds {
		floor := &entrant{Contender: contender.Floor(b.options(t.task)), task: t.task}
		operator := &entrant{Contender: contender.Operator(b.options(twins)), task: twins}
		cheapest := &entrant{Contender: contender.CheapestFloor(b.options(peers)), task: peers}
		all := []*entrant{floor, operator, cheapest}
		if err := b.round(ctx, t, all...); err != nil {
			return err
		}
		examples := map[*entrant]example{}
		for _, e := range all {
			b.addSpan(e.Contender, t, e.span)
			b.Bed.Say("round %d of %d, %s: %d parents in %.2f s, %.2f s of CPU, servers %.2f s", round+1, b.Rounds, e.Name(), t.parents, e.span.wall.Seconds(), e.span.cpu.Seconds(), e.span.servers.Seconds())
			one, err := b.example(ctx, e.task)
			if err != nil {
				return err
			}
			examples[e] = one
		}
		for _, e := range []*entrant{floor, cheapest} {
			diff, err := examples[e].differs(examples[operator], e == floor)
			if err != nil {
				return err
			}
			if diff != "" {
				return fmt.Errorf("the %s writes something else than templater, adapt package workload: %s", e.Name(), diff)
			}
		}
		if err := b.Bed.Clear(ctx, workload.Item, workload.Twin, workload.Peer); err != nil {
			return err
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

// round measures contenders, which take turns. Their objects are kept.
func (b *Bench) round(ctx context.Context, t throughput, all ...*entrant) (err error) {
	for _, e := range all {
		defer func() { err = errors.Join(err, e.Stop()) }()
		if err := b.prepare(ctx, t, e); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	turns := slices.Clone(all)
	for i := range portions {
		for _, e := range turns {
			if err := b.portion(ctx, t, e, i*t.parents/portions, (i+1)*t.parents/portions); err != nil {
				return fmt.Errorf("%s: %w", e.Name(), err)
			}
		}
		slices.Reverse(turns)
	}
	for _, e := range all {
		if err := errors.Join(b.verify(ctx, t, e.task), flawless(e)); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return nil
}

// prepare starts an entrant, and pauses it once it is ready for the first batch.
func (b *Bench) prepare(ctx context.Context, t throughput, e *entrant) error {
	if err := b.warm(ctx, e, e.task); err != nil {
		return err
	}
	if t.update {
		fill := func(ctx context.Context) error { return b.Bed.Fill(ctx, e.task.Kind, 0, t.parents) }
		if _, err := b.measure(ctx, e, work{set: bed.Set(e.task.Kind), count: t.parents, done: inOrder(e.task, workload.Red), begin: fill}); err != nil {
			return err
		}
		if err := b.Bed.Settle(ctx); err != nil {
			return err
		}
	}
	return e.Hold()
}

// portion creates work for a paused entrant, and measures how it processes that.
func (b *Bench) portion(ctx context.Context, t throughput, e *entrant, first, end int) error {
	var err error
	if t.update {
		err = b.Bed.Paint(ctx, e.task.Kind, first, end, workload.Blue)
	} else {
		err = b.Bed.Fill(ctx, e.task.Kind, first, end)
	}
	if err != nil || first == end {
		return err
	}
	if err := b.Bed.Settle(ctx); err != nil {
		return err
	}
	release := func(context.Context) error { return e.Release() }
	s, err := b.measure(ctx, e, work{set: bed.Set(e.task.Kind), count: end - first, done: inOrder(e.task, t.color()), begin: release})
	if err != nil {
		return err
	}
	e.span = e.span.plus(s)
	return e.Hold()
}

// color is the final color of the parents.
func (t throughput) color() string {
	if t.update {
		return workload.Blue
	}
	return workload.Red
}

// inOrder returns a check whether a parent's status, and therefore its children, are up to date.
func inOrder(task workload.Task, color string) func(*observe.Object) bool {
	return func(o *observe.Object) bool {
		names, _ := o.Status.Children.([]any)
		running := task.ChildKind != workload.Pod || len(o.Status.Phases) == task.Children &&
			!slices.ContainsFunc(o.Status.Phases, func(phase string) bool { return phase != "Running" })
		return o.Status.Color == color && len(names) == task.Children && running && o.Is(task.ReadyCondition())
	}
}

// verify checks that all children exist and are up to date, outside the measured time.
func (b *Bench) verify(ctx context.Context, t throughput, task workload.Task) error {
	children, err := b.Bed.Observer.List(ctx, bed.Children(task))
	if err != nil {
		return err
	}
	if want := (t.parents + 1) * task.Children; len(children.Items) != want { // including those of the first parent
		return fmt.Errorf("the statuses match, but there are %d children, want %d", len(children.Items), want)
	}
	for _, child := range children.Items {
		first := strings.HasPrefix(child.Metadata.Name, firstParent)
		if task.ChildKind == workload.ConfigMap && !first && child.Data["color"] != t.color() {
			return fmt.Errorf("the statuses match, but child %s does not", child.Metadata.Name)
		}
	}
	return nil
}
