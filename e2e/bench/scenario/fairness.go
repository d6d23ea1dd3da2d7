package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/observe"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/stats"
	"github.com/templater-dev/templater/e2e/bench/workload"
)

// The two TemplateControllers of scenario fairness: one has many parents, the other gets a new one from time to time.
var (
	crowd   = workload.Task{Name: "crowd", Kind: workload.Item, ChildKind: workload.ConfigMap, Children: 1}
	visitor = workload.Task{Name: "visitors", Kind: "Visitor", ChildKind: workload.ConfigMap, Children: 1}
)

// patience is how long a visitor may wait for its child.
const patience = time.Minute

// pace is the rate at which visitors are created.
type pace struct {
	name  string
	quiet int                  // number of visitors without other load
	gap   func() time.Duration // between visitors
	steps []any                // of the rollout to the crowd; nil = all parents at once
}

// The second pace is that of humans, who create a parent after a quiet period.
var paces = []pace{
	{"every 200 ms", 20, func() time.Duration { return 200 * time.Millisecond }, nil},
	{"every 1.2–3 s", 10, func() time.Duration { return 1200*time.Millisecond + rand.N(1800*time.Millisecond) }, nil},
	{"every 200 ms, in five steps", 20, func() time.Duration { return 200 * time.Millisecond }, []any{"20%", "40%", "60%", "80%", "100%"}},
}

func (b *Bench) fairness(ctx context.Context) error {
	if err := b.Bed.Define(ctx, visitor.Kind); err != nil {
		return err
	}
	if err := b.populate(ctx, crowd, 0, b.FairnessParents); err != nil {
		return err
	}
	if err := b.Bed.Settle(ctx); err != nil {
		return err
	}
	if err := b.visits(ctx); err != nil {
		return err
	}
	if err := b.Bed.Clear(ctx, crowd.Kind, visitor.Kind); err != nil {
		return err
	}
	return b.Bed.Undefine(ctx, visitor.Kind)
}

func (b *Bench) visits(ctx context.Context) (err error) {
	c := contender.Operator(b.options(visitor))
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := b.warm(ctx, c, visitor); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := b.receive(ctx, c)
	if err != nil {
		return err
	}
	alone, err := b.rollout(ctx, c, "alone", nil, func(<-chan struct{}) error { return nil })
	if err != nil {
		return err
	}
	b.addRollout(c, "alone", alone)
	for i, p := range paces {
		if err := b.visitsAt(ctx, v, p, fmt.Sprintf("pace-%d", i)); err != nil {
			return fmt.Errorf("new parents %s: %w", p.name, err)
		}
	}
	return nil
}

// visitsAt measures visitors without other load, and then during a rollout to the crowd.
func (b *Bench) visitsAt(ctx context.Context, v *reception, p pace, name string) error {
	if _, err := rest(ctx, v.contender); err != nil {
		return err
	}
	quiet, err := v.come(ctx, name+"-quiet", p.gap, func(n int) bool { return n < p.quiet })
	if err != nil {
		return err
	}
	var busy []float64
	wall, err := b.rollout(ctx, v.contender, name, p.steps, func(over <-chan struct{}) error {
		var err error
		busy, err = v.come(ctx, name+"-busy", p.gap, func(int) bool {
			select {
			case <-over:
				return false
			default:
				return true
			}
		})
		return err
	})
	if err != nil {
		return err
	}
	b.addRollout(v.contender, "visitors "+p.name, wall)
	b.addVisits(v.contender, p, quiet, busy)
	return nil
}

func (b *Bench) addRollout(c contender.Contender, meanwhile string, wall time.Duration) {
	rate := float64(b.FairnessParents) / wall.Seconds()
	b.Bed.Say("%d others change, %s: %.0f parents/s", b.FairnessParents, meanwhile, rate)
	b.add(c, report.Figure{Scenario: "fairness", Measure: "rollout of the others, " + meanwhile, Unit: "parents/s"}, rate)
}

func (b *Bench) addVisits(c contender.Contender, p pace, quiet, busy []float64) {
	if len(busy) == 0 {
		b.Report.Note("scenario fairness: no new parent came %s before the others were done: try more of them", p.name)
		return
	}
	calm, median, p99 := stats.Median(quiet), stats.Median(busy), stats.Percentile(busy, 99)
	b.Bed.Say("a new parent %s waits %.1f ms when all is quiet; %.1f ms, p99 %.1f ms, while %d others change (%d samples)", p.name, calm, median, p99, b.FairnessParents, len(busy))
	add := func(measure, unit string, target *report.Target, value float64) {
		b.add(c, report.Figure{Scenario: "fairness", Measure: fmt.Sprintf("new parent %s, %s", p.name, measure), Unit: unit, Target: target}, value)
	}
	add("quiet, median", "ms", nil, calm)
	add("others busy, median", "ms", nil, median)
	add("others busy, p99", "ms", nil, p99)
	add("median busy / median quiet", "", report.AtMost(2), median/calm)
	add("p99 busy / median quiet", "", nil, p99/calm)
}

// rollout changes the TemplateController of the crowd, and returns how long it takes until all its children have
// changed, in these steps. Meanwhile it calls f with a channel that is closed at the end.
func (b *Bench) rollout(ctx context.Context, c contender.Contender, tint string, steps []any, f func(over <-chan struct{}) error) (time.Duration, error) {
	if _, err := rest(ctx, c); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit(b.FairnessParents))
	defer cancel()
	seen, err := b.watch(ctx, work{set: bed.Children(crowd), count: b.FairnessParents, done: func(o *observe.Object) bool { return o.Data["tint"] == tint }})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	edit := map[string]any{"values": map[string]any{"tint": tint}, "rollout": nil}
	if steps != nil {
		edit["rollout"] = map[string]any{"steps": steps}
	}
	if err := b.Bed.PatchController(ctx, crowd.Name, edit); err != nil {
		return 0, err
	}
	over := make(chan struct{})
	var wall time.Duration
	var changed error
	go func() {
		defer close(over)
		changed = outcome(c, seen)
		wall = time.Since(start)
	}()
	if err := f(over); err != nil {
		return 0, err
	}
	<-over
	return wall, changed
}

// reception creates visitors one at a time and waits for the child of each.
type reception struct {
	bench     *Bench
	contender contender.Contender
	seen      chan string // names of children
	ended     chan error  // result of the watch
}

func (b *Bench) receive(ctx context.Context, c contender.Contender) (*reception, error) {
	set := bed.Children(visitor)
	version, err := b.Bed.Observer.Version(ctx, set)
	if err != nil {
		return nil, err
	}
	r := &reception{b, c, make(chan string, 16), make(chan error, 1)}
	go func() {
		r.ended <- b.Bed.Observer.Watch(ctx, set, version, func(o *observe.Object) bool {
			select {
			case r.seen <- o.Metadata.Name:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return r, nil
}

// come creates visitors while more returns true, with a gap before each, and returns how many ms each waited for its
// child.
func (r *reception) come(ctx context.Context, name string, gap func() time.Duration, more func(n int) bool) (values []float64, err error) {
	start := time.Now()
	for n := 0; ; n++ {
		if err := pause(ctx, time.Until(start.Add(gap()))); err != nil {
			return nil, err
		}
		if !more(n) {
			return values, nil
		}
		parent := fmt.Sprintf("%s-%d", name, n)
		start = time.Now()
		if err := r.bench.Bed.Create(ctx, visitor.Kind, parent); err != nil {
			return nil, err
		}
		if err := r.await(ctx, visitor.ChildName(parent, 0)); err != nil {
			return nil, fmt.Errorf("wait for the child of %s: %w", parent, err)
		}
		values = append(values, time.Since(start).Seconds()*1000)
	}
}

func (r *reception) await(ctx context.Context, child string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case <-r.contender.Process().Exited():
			return r.contender.Process().Ended()
		case name := <-r.seen:
			if name == child {
				return nil
			}
		case err := <-r.ended:
			return errors.Join(errors.New("the watch has ended"), err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
