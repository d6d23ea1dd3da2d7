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
	// deniedRetry is the maximum retry delay of a parent that lacks a permission if few parents lack it.
	deniedRetry = 30 * time.Second
	// namespaceInterval is the interval between retries of all parents that lack one permission in one namespace, and
	// maxNamespaceDelay is the maximum delay of a parent that results from it.
	namespaceInterval, maxNamespaceDelay = time.Second, time.Hour
	// clusterInterval is the interval between retries of all parents that lack one permission in any namespace, and
	// maxClusterDelay is the maximum delay of a parent that results from it.
	clusterInterval, maxClusterDelay = 100 * time.Millisecond, 5 * time.Minute
	// requeuedPerGrant is how many other parents are requeued when a parent gets the permission. If they get it too, each requeues
	// as many.
	requeuedPerGrant = 2
)

// Waiting holds the parents that lack a permission. Each one retries with increasing delays, which are longer if many
// parents lack the same permission. When a parent gets it, two others are requeued, preferably in the same namespace.
// Each of these that also gets it requeues two more. A permission that is granted to all parents thus reaches them
// quickly, and a permission that is granted to a few causes few forbidden requests. It is safe for concurrent use.
type Waiting struct {
	mu     sync.Mutex
	of     map[queue.Key]*waiter
	groups map[group]*waiters
}

// waiter is one parent.
type waiter struct {
	problem.Denial
	tries  int
	woken  bool             // it has been requeued, and is in no group
	former []problem.Denial // permissions that it waited for before it was denied another one
}

// group identifies parents that a single grant may unblock: those of one TemplateController that lack one permission,
// in any namespace.
type group struct{ controller, user, verb, resource string }

// waiters are the parents in a group by the namespace of the permission; no entry is empty.
type waiters struct {
	total int
	in    map[string]map[queue.Key]struct{}
}

// NewWaiting returns an empty Waiting.
func NewWaiting() *Waiting {
	return &Waiting{of: map[queue.Key]*waiter{}, groups: map[group]*waiters{}}
}

func groupOf(key queue.Key, d problem.Denial) group {
	return group{key.Controller, d.User, d.Verb, d.Resource}
}

// Add records that a parent lacks a permission, and returns the delay before it retries. If it waited for another
// permission until now, it has that permission: Add then returns other parents that should be reconciled now, as Done
// does. A parent that alternates between missing permissions requeues others only once.
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

// wait returns the delay before the next retry, given how many parents lack the same permission in one namespace and in
// total.
func wait(tries, inNamespace, inCluster int) time.Duration {
	long := max(deniedRetry,
		min(time.Duration(inNamespace)*namespaceInterval, maxNamespaceDelay),
		min(time.Duration(inCluster)*clusterInterval, maxClusterDelay))
	if inNamespace > 1 {
		return queue.Jitter(long) // another parent retries earlier, and requeues this one
	}
	return min(queue.RetryDelay(tries-1), queue.Jitter(long))
}

// Done records that a parent was reconciled and lacks no permission. It returns other parents that lacked the same
// permission and should be reconciled now.
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

// wake returns other parents that wait for a permission that a parent got. The caller holds the lock.
func (w *Waiting) wake(key queue.Key, got problem.Denial) []queue.Key {
	g := groupOf(key, got)
	var woken []queue.Key
	for range requeuedPerGrant {
		if next, found := w.groups[g].next(got.Namespace); found {
			w.of[next].woken = true
			w.leave(g, w.of[next].Namespace, next)
			woken = append(woken, next)
		}
	}
	return woken
}

// Forget drops a deleted parent.
func (w *Waiting) Forget(key queue.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(key)
}

// ForgetController drops the parents of a deleted TemplateController.
func (w *Waiting) ForgetController(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue.DropController(w.of, name)
	maps.DeleteFunc(w.groups, func(g group, _ *waiters) bool { return g.controller == name })
}

// remove drops a parent. The caller holds the lock.
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

// leave removes a parent from its group. The caller holds the lock.
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

// next returns a parent that waits for a permission, preferably in that namespace. It returns false if there is none.
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
