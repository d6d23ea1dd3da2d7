package permissions

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const (
	// deniedRetry is the longest wait of a parent that lacks a permission, where few parents wait for the same.
	deniedRetry = 30 * time.Second
	// namespacePace is the interval between retries of all parents that lack one permission in one namespace, and
	// longestInNamespace the longest wait of a parent that results from it.
	namespacePace, longestInNamespace = time.Second, time.Hour
	// clusterPace is the interval between retries of all parents that lack one permission in any namespace, and
	// longestInCluster the longest wait of a parent that results from it.
	clusterPace, longestInCluster = 100 * time.Millisecond, 5 * time.Minute
	// wakes is how many other parents are requeued when a write of one parent succeeds. Each of these that also succeeds requeues as many.
	wakes = 2
)

// Waiting holds the parents that lack a permission. Each retries at growing intervals, which are longer if many parents lack the same
// permission. When one parent gets it, two others are requeued, those in the same namespace first. Each of these that also gets it requeues
// two more. So a permission that is granted to all reaches them quickly, and one that is granted to a few causes few refused requests.
// It is safe for concurrent use.
type Waiting struct {
	mu     sync.Mutex
	of     map[queue.Key]*waiter
	groups map[group]*waiters
}

// waiter is one parent.
type waiter struct {
	problem.Denial
	tries  int
	woken  bool             // it is about to be reconciled, and in no group
	former []problem.Denial // it waited for these earlier, and was then refused another permission
}

// group identifies parents that a single grant may help: those of one TemplateController that lack one permission, in any namespace.
type group struct{ controller, user, verb, resource string }

// waiters are the parents in a group by the namespace of the permission; none is empty.
type waiters struct {
	total int
	in    map[string]map[queue.Key]struct{}
}

// NewWaiting returns a Waiting without parents.
func NewWaiting() *Waiting {
	return &Waiting{of: map[queue.Key]*waiter{}, groups: map[group]*waiters{}}
}

func groupOf(key queue.Key, d problem.Denial) group {
	return group{key.Controller, d.User, d.Verb, d.Resource}
}

// Add notes that a parent lacks a permission, and returns how long it waits before it retries. If it waited for another permission until now,
// it has that one: Add returns others that are worth reconciling now, as Done does. A parent that is refused in turns wakes them only once.
func (w *Waiting) Add(key queue.Key, d problem.Denial) (time.Duration, []queue.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.of[key]
	var woken []queue.Key
	if one == nil || one.Denial != d {
		next := &waiter{Denial: d, woken: true}
		if one != nil {
			w.remove(key)
			if next.former = one.former; !slices.Contains(one.former, one.Denial) {
				next.former = append(next.former, one.Denial)
			}
			if !slices.Contains(one.former, d) {
				woken = w.wake(key, one.Denial)
			}
		}
		one = next
		w.of[key] = one
	}
	g := groupOf(key, d)
	all := w.groups[g]
	if all == nil {
		all = &waiters{in: map[string]map[queue.Key]struct{}{}}
		w.groups[g] = all
	}
	if one.woken {
		one.woken = false
		all.add(key, d.Namespace)
	}
	one.tries++
	return wait(one.tries, len(all.in[d.Namespace]), all.total), woken
}

// wait returns the interval before the next retry, by the number of parents that lack the same permission in one namespace and in all.
func wait(tries, inNamespace, inCluster int) time.Duration {
	long := max(deniedRetry,
		min(time.Duration(inNamespace)*namespacePace, longestInNamespace),
		min(time.Duration(inCluster)*clusterPace, longestInCluster))
	if inNamespace > 1 {
		return queue.Jitter(long) // another parent retries earlier, and wakes this one
	}
	return min(queue.RetryDelay(tries-1), queue.Jitter(long))
}

// Done notes that a parent has been reconciled and lacks no permission. It returns other parents that
// lacked the same permission and should be reconciled now.
func (w *Waiting) Done(key queue.Key) []queue.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.of[key]
	if one == nil {
		return nil
	}
	w.remove(key)
	return w.wake(key, one.Denial)
}

// wake returns others that wait for a permission that a parent has got; the lock is held.
func (w *Waiting) wake(key queue.Key, got problem.Denial) []queue.Key {
	g := groupOf(key, got)
	var woken []queue.Key
	for range wakes {
		if next, found := w.groups[g].next(got.Namespace); found {
			w.of[next].woken = true
			w.leave(g, w.of[next].Namespace, next)
			woken = append(woken, next)
		}
	}
	return woken
}

// Forget forgets a deleted parent.
func (w *Waiting) Forget(key queue.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(key)
}

// ForgetController forgets the parents of a deleted TemplateController.
func (w *Waiting) ForgetController(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue.DropController(w.of, name)
	maps.DeleteFunc(w.groups, func(g group, _ *waiters) bool { return g.controller == name })
}

// remove forgets a parent; the lock is held.
func (w *Waiting) remove(key queue.Key) {
	one := w.of[key]
	if one == nil {
		return
	}
	delete(w.of, key)
	if !one.woken {
		w.leave(groupOf(key, one.Denial), one.Namespace, key)
	}
}

// leave takes a parent out of its group; the lock is held.
func (w *Waiting) leave(g group, namespace string, key queue.Key) {
	all := w.groups[g]
	delete(all.in[namespace], key)
	if len(all.in[namespace]) == 0 {
		delete(all.in, namespace)
	}
	if all.total--; all.total == 0 {
		delete(w.groups, g)
	}
}

func (all *waiters) add(key queue.Key, namespace string) {
	if all.in[namespace] == nil {
		all.in[namespace] = map[queue.Key]struct{}{}
	}
	all.in[namespace][key] = struct{}{}
	all.total++
}

// next returns a parent that waits for a permission in that namespace or, where there is none, in another one.
func (all *waiters) next(namespace string) (queue.Key, bool) {
	if all == nil {
		return queue.Key{}, false
	}
	for key := range all.in[namespace] {
		return key, true
	}
	for _, in := range all.in {
		for key := range in {
			return key, true
		}
	}
	return queue.Key{}, false
}
