package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// stream creates parents of the quiet neighbor at a steady rate, whether or not earlier ones have a child, and measures
// how long each waits for its child. A bare client, as a control, creates an object for each parent that it observes,
// which distinguishes a busy machine from a busy operator.
type stream struct {
	*scope
	others func() (float64, error) // number of finished reconciliations of others

	mu      sync.Mutex
	parents map[string]*streamed
	last    int
	failed  error
	work    sync.WaitGroup
}

// streamed is one parent. A value of 0 means not yet.
type streamed struct {
	began     time.Time
	child     time.Duration // until the child was observed
	bare      time.Duration // until the object of the bare client was observed
	before    float64       // reconciliations of others when it was created
	meanwhile float64       // and when its child was observed
	counted   bool
}

// newStream applies the neighbor's TemplateController, and waits until its first parent has a child.
func newStream(s *scope, others func() (float64, error)) *stream {
	s.t.Helper()
	s.controllerNamed("@id-quiet", quietNeighbor)
	st := &stream{scope: s, others: others, parents: map[string]*streamed{}}
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(func() { cancel(); st.work.Wait() })
	st.watch(ctx, "side=quiet", "things", st.sawParent)
	st.watch(ctx, "side in (quiet, bare)", "configmaps", st.sawChild)
	st.during(time.Second) // the first ones make the operator discover the kind of the children
	return st
}

// watch calls saw sequentially with the names of all new objects that match a label selector.
func (st *stream) watch(ctx context.Context, selector, resource string, saw func(ctx context.Context, name string)) {
	st.t.Helper()
	in := st.in(configMaps)
	if resource == "things" {
		in = st.things()
	}
	w, err := in.Watch(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		st.t.Fatal(err)
	}
	st.work.Go(func() {
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-w.ResultChan():
				if !open || event.Type == watch.Error {
					st.fail(fmt.Errorf("the watch of %s has ended: %v", resource, event.Object))
					return
				}
				if o, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Added {
					saw(ctx, o.GetName())
				}
			}
		}
	})
}

func (st *stream) fail(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.failed == nil {
		st.failed = err
	}
}

// sawParent creates the object of the bare client.
func (st *stream) sawParent(ctx context.Context, name string) {
	st.work.Go(func() {
		_, err := st.in(configMaps).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "bare-" + name, "labels": map[string]any{"side": "bare"}},
		}}, metav1.CreateOptions{})
		if err != nil && ctx.Err() == nil {
			st.fail(err)
		}
	})
}

// sawChild records how long a parent has waited.
func (st *stream) sawChild(_ context.Context, name string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	parent, bare := strings.CutPrefix(name, "bare-")
	p := st.parents[parent]
	switch {
	case p == nil:
	case bare:
		p.bare = time.Since(p.began)
	default:
		p.child = time.Since(p.began)
		st.work.Go(func() { // the next child must not wait for the metrics
			now, err := st.others()
			st.mu.Lock()
			defer st.mu.Unlock()
			p.meanwhile, p.counted = now-p.before, err == nil
			if err != nil && st.failed == nil {
				st.failed = err
			}
		})
	}
}

// pace is the interval at which a stream creates parents.
const pace = 200 * time.Millisecond

// begin creates parents until end is called, which waits until all of them have their child and their status.
func (st *stream) begin() (end func() window) {
	ctx, cancel := context.WithCancel(st.t.Context())
	var names []string
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for ctx.Err() == nil {
			names = append(names, st.create(context.WithoutCancel(ctx)))
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() window {
		st.t.Helper()
		cancel()
		done.Wait()
		return st.window(names)
	}
}

func (st *stream) create(ctx context.Context) string {
	before, err := st.others()
	if err != nil {
		st.fail(err)
	}
	st.mu.Lock()
	st.last++
	name := fmt.Sprint("quiet-", st.last)
	st.parents[name] = &streamed{began: time.Now(), before: before}
	st.mu.Unlock()
	_, err = st.things().Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": st.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": name, "labels": map[string]any{"side": "quiet"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		st.fail(err)
	}
	return name
}

// during creates parents for that long.
func (st *stream) during(long time.Duration) window {
	st.t.Helper()
	end := st.begin()
	pause(st.t.Context(), long)
	return end()
}

// window holds the sorted waiting times of some parents of a stream.
type window struct {
	child, bare []time.Duration
	meanwhile   []float64
	names       map[string]*streamed
}

// window waits until all of these parents have their child and their status.
func (st *stream) window(names []string) window {
	st.t.Helper()
	eventually(st.t, soon, func() error {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.failed != nil {
			return st.failed
		}
		for _, name := range names {
			if p := st.parents[name]; p.child == 0 || p.bare == 0 || !p.counted {
				return fmt.Errorf("%s: %+v", name, *p)
			}
		}
		return nil
	})
	eventually(st.t, soon, func() error {
		all := st.list(st.things(), "side=quiet")
		if len(all) < len(names) {
			return fmt.Errorf("%d parents, want %d", len(all), len(names))
		}
		for i := range all {
			if err := ready(&all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	st.mu.Lock()
	defer st.mu.Unlock()
	w := window{names: map[string]*streamed{}}
	for _, name := range names {
		p := st.parents[name]
		w.names[name] = p
		w.child, w.bare, w.meanwhile = append(w.child, p.child), append(w.bare, p.bare), append(w.meanwhile, p.meanwhile)
	}
	slices.Sort(w.child)
	slices.Sort(w.bare)
	slices.Sort(w.meanwhile)
	return w
}

// String formats the median and the worst tenth of each.
func (w window) String() string {
	tenth := len(w.child) * 9 / 10
	return fmt.Sprintf("%d parents wait %v (tenth %v), the bare client %v (tenth %v), and %v reconciliations of others (tenth %v) end meanwhile",
		len(w.child), middle(w.child), w.child[tenth], middle(w.bare), w.bare[tenth], middle(w.meanwhile), w.meanwhile[tenth])
}

// middle returns the median of a sorted slice.
func middle[T any](sorted []T) T { return sorted[len(sorted)/2] }

// expectFair expects that parents waited less than twice as long during an attack as before it, and that at most that
// many reconciliations of others ended meanwhile. If the bare client is slower as well, the machine is busy: then
// parents may wait up to twice as long as the bare client.
func expectFair(t *testing.T, before, beside window, most float64) {
	t.Helper()
	times := float64(middle(beside.child)) / float64(middle(before.child))
	bare := float64(middle(beside.bare)) / float64(middle(before.bare))
	t.Logf("before: %v", before)
	t.Logf("beside: %v", beside)
	t.Logf("a new parent waits %.2f times as long as before, the bare client %.2f times", times, bare)
	if times >= 2*max(1, bare) {
		t.Errorf("a new parent waits %.2f times as long as before, want less than 2; the bare client waits %.2f times as long", times, bare)
	}
	if got := middle(beside.meanwhile); got > most {
		t.Errorf("%v reconciliations of others have ended while a parent waited, want at most %v", got, most)
	}
}

// othersThan returns a function that counts the reconciliations of all other TemplateControllers, using an operator's
// metrics.
func othersThan(v *view, controller string) func() (float64, error) {
	return func() (float64, error) {
		m, err := v.scrape()
		sum := 0.0
		for name, value := range m {
			if strings.HasPrefix(name, "templater_reconcile_total") && !strings.Contains(name, controller) {
				sum += value
			}
		}
		if err == nil && len(m) == 0 {
			err = errors.New("there are no metrics")
		}
		return sum, err
	}
}
