package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/contender"
	"github.com/templater-dev/templater/e2e/bench/observe"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/stats"
	"github.com/templater-dev/templater/e2e/bench/workload"
)

// The two TemplateControllers of scenario fairness: one has many parents, to the
// other a new one comes now and then.
var (
	crowd   = workload.Task{Name: "crowd", Kind: workload.Item, ChildKind: workload.ConfigMap, Children: 1}
	visitor = workload.Task{Name: "visitors", Kind: "Visitor", ChildKind: workload.ConfigMap, Children: 1}
)

const (
	quietVisitors   = 20
	visitorInterval = 200 * time.Millisecond
)

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
	if _, err := atRest.Await(ctx, c.Process().PID()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := b.receive(ctx)
	if err != nil {
		return err
	}
	quiet, err := v.come(ctx, "quiet", func(n int) bool { return n < quietVisitors })
	if err != nil {
		return err
	}
	busy, wall, err := b.busyVisits(ctx, v)
	if err != nil {
		return err
	}
	b.addFairness(c, quiet, busy)
	b.add(c, report.Figure{Scenario: "fairness", Measure: "rollout of the others", Unit: "parents/s"}, float64(b.FairnessParents)/wall.Seconds())
	return nil
}

func (b *Bench) addFairness(c contender.Contender, quiet, busy []float64) {
	calm, median, p99 := stats.Median(quiet), stats.Median(busy), stats.Percentile(busy, 99)
	b.Bed.Say("a new parent waits %.1f ms when all is quiet; %.1f ms, p99 %.1f ms, while %d others change (%d samples)", calm, median, p99, b.FairnessParents, len(busy))
	b.add(c, report.Figure{Scenario: "fairness", Measure: "new parent, quiet, median", Unit: "ms"}, calm)
	b.add(c, report.Figure{Scenario: "fairness", Measure: "new parent, others busy, median", Unit: "ms"}, median)
	b.add(c, report.Figure{Scenario: "fairness", Measure: "new parent, others busy, p99", Unit: "ms"}, p99)
	b.add(c, report.Figure{Scenario: "fairness", Measure: "median busy / median quiet", Target: report.AtMost(2)}, median/calm)
	b.add(c, report.Figure{Scenario: "fairness", Measure: "p99 busy / median quiet"}, p99/calm)
}

// busyVisits are visits while all children of the crowd change, and how long that takes.
func (b *Bench) busyVisits(ctx context.Context, v *reception) ([]float64, time.Duration, error) {
	seen, err := b.watch(ctx, work{set: bed.Children(crowd), count: b.FairnessParents, done: func(o *observe.Object) bool { return o.Data["tint"] == "new" }})
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	if err := b.Bed.PatchController(ctx, crowd.Name, map[string]any{"values": map[string]any{"tint": "new"}}); err != nil {
		return nil, 0, err
	}
	over := make(chan struct{})
	var wall time.Duration
	var changed error
	go func() {
		changed = <-seen
		wall = time.Since(start)
		close(over)
	}()
	busy, err := v.come(ctx, "busy", func(int) bool {
		select {
		case <-over:
			return false
		default:
			return true
		}
	})
	if err != nil {
		return nil, 0, err
	}
	<-over
	return busy, wall, changed
}

// reception creates visitors one at a time and waits for the child of each.
type reception struct {
	bench *Bench
	seen  chan string // names of children
	ended chan error  // of the watch
}

func (b *Bench) receive(ctx context.Context) (*reception, error) {
	set := bed.Children(visitor)
	version, err := b.Bed.Observer.Version(ctx, set)
	if err != nil {
		return nil, err
	}
	r := &reception{b, make(chan string, 16), make(chan error, 1)}
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

// come creates visitors, as long as there are to be more, and returns how many ms each waited
// for its child.
func (r *reception) come(ctx context.Context, name string, more func(n int) bool) (values []float64, err error) {
	ticker := time.NewTicker(visitorInterval)
	defer ticker.Stop()
	for n := 0; more(n); n++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
		parent := fmt.Sprintf("%s-%d", name, n)
		start := time.Now()
		if err := r.bench.Bed.Create(ctx, visitor.Kind, parent); err != nil {
			return nil, err
		}
		if err := r.await(ctx, visitor.ChildName(parent, 0)); err != nil {
			return nil, fmt.Errorf("wait for the child of %s: %w", parent, err)
		}
		values = append(values, time.Since(start).Seconds()*1000)
	}
	return values, nil
}

func (r *reception) await(ctx context.Context, child string) error {
	for {
		select {
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
