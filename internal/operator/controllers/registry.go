package controllers

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// registry holds the state of each TemplateController, and the queue of those to sync. It is safe for concurrent use.
type registry struct {
	clock   clock.PassiveClock
	meters  record.Meters
	tenants *queue.Tenants
	// selections limits the memory for the selections of related objects.
	selections *related.Memory
	queue      workqueue.TypedRateLimitingInterface[string]

	mu      sync.RWMutex
	tracked map[string]*tracked
	first   map[string]struct{} // TemplateControllers that existed at the start and were not synced yet
	// rivals has the TemplateControllers with counts.Rivals, by the name of the rival.
	rivals map[string]map[string]struct{}
}

// track returns the state of tc. The state is empty if tc is new or was recreated.
func (r *registry) track(tc *v1.TemplateController) *tracked {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tracked[tc.Key()]
	if e == nil || e.uid != tc.UID {
		if e != nil {
			e.closeIndexes()
			r.dropRivals(tc.Key(), e)
		}
		e = newTracked(tc.UID)
		e.meter = r.meters.Begin(tc.Key())
		r.tracked[tc.Key()] = e
	}
	if e.since.IsZero() {
		clear(e.unrecorded)
		clear(e.custom)
		clear(e.childKinds) // while another installation served it, the version of a kind may have changed
		e.namespaces, e.recorded = nil, false
		if tc.Namespace == "" { // the owners of a namespace may be able to write this status
			e.everywhere = len(tc.Status.ChildKinds) > 0 && len(tc.Status.ChildNamespaces) == 0
			e.widenScope(tc.Status.ChildNamespaces)
		}
	}
	e.learn(tc.Status.ChildKinds)
	e.recordedNamespaces = e.namespaces
	e.widenScope(spec.ChildNamespaces(&tc.Spec))
	return e
}

// Enter returns the running controller with that name, or nil, and a function to call at the end of the reconciliation.
func (r *registry) Enter(name string) (*controller.Controller, func()) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e := r.tracked[name]
	if e == nil || e.current == nil {
		return nil, func() {}
	}
	e.reconciling.Add(1)
	e.inProgress.Add(1)
	return e.current, e.left
}

// Measure counts a reconciliation, unless the TemplateController was deleted.
func (r *registry) Measure(name string, outcome record.Outcome, took time.Duration) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.tracked[name]; e != nil {
		e.meter.Reconciled(outcome, took)
	}
}

// get returns the running controller with that name, or nil.
func (r *registry) get(name string) *controller.Controller {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.tracked[name]; e != nil {
		return e.current
	}
	return nil
}

// runs reports whether templates are executed for the parents of a controller.
func (r *registry) runs(name string) bool {
	running := r.get(name)
	return running != nil && running.ExecutesTemplates()
}

// counted returns the parents that the counts of a controller include.
func (r *registry) counted(name string) []types.NamespacedName {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.tracked[name]; e != nil {
		return slices.Collect(maps.Keys(e.counts.ByParent))
	}
	return nil
}

// countsAll reports whether all parents are known and counted.
func (r *registry) countsAll(e *tracked, a assembly, next *controller.Controller) bool {
	if a.rejection != nil || len(next.Parents) == 0 || !next.ParentsComplete() {
		return false
	}
	parents := next.ParentNames()
	r.mu.RLock()
	defer r.mu.RUnlock()
	return !slices.ContainsFunc(parents, func(name types.NamespacedName) bool {
		_, counted := e.counts.ByParent[name]
		return !counted
	})
}

// names returns the controllers for which f returns true.
func (r *registry) names(f func(*tracked) bool) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.tracked)) {
		if f(r.tracked[name]) {
			out = append(out, name)
		}
	}
	return out
}

// starting reports whether other TemplateControllers of the tenant that existed when this operator started were not
// synced yet, so that the number of watches that they need is unknown. If so, it enqueues the TemplateController again.
// The caller holds the lock.
func (r *registry) starting(name string) bool {
	for other := range r.first {
		if other != name && r.tenants.Name(other) == r.tenants.Name(name) {
			r.queue.AddAfter(name, countsDelay)
			return true
		}
	}
	return false
}

// Miss records kinds that templates render and the API server does not serve.
func (r *registry) Miss(name string, kinds []schema.GroupKind) {
	if len(kinds) == 0 {
		return // the common case: avoid lock contention
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.tracked[name]; e != nil {
		for _, gk := range kinds {
			e.missing[gk] = true
		}
	}
}

// AddKinds adds kinds that a controller is about to create to its watches. The parent that needs them is reconciled
// again once they can be read and are recorded: see recordReadable.
func (r *registry) AddKinds(name string, kinds []schema.GroupVersionKind) {
	r.mu.Lock()
	if e := r.tracked[name]; e != nil {
		for _, gvk := range kinds {
			_, ok := e.childKinds[gvk.GroupKind()]
			if !ok {
				e.unrecorded[gvk.GroupKind()] = true
			}
			if !ok || !e.settled[gvk.GroupKind()] {
				e.childKinds[gvk.GroupKind()] = gvk.Version
				e.settled[gvk.GroupKind()] = true
				e.round++
			}
		}
	}
	r.mu.Unlock()
	r.queue.Add(name)
}

// noteCustom records which of the kinds that are currently served are defined by CRDs.
func (r *registry) noteCustom(e *tracked, children map[schema.GroupKind]controller.ChildWant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gk, of := range children {
		switch {
		case len(of.Wants) == 0:
		case of.Kind.Custom:
			e.custom[gk] = true
		default:
			delete(e.custom, gk)
		}
	}
}

// setStale sets when a TemplateController must be checked again because of its kinds.
func (r *registry) setStale(e *tracked, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.stale = at
}

// noteVersion records that the status was written, and that the TemplateController is unchanged since it was read.
func (r *registry) noteVersion(e *tracked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.confirmed, e.recorded = true, true
}

// selectionShare: the selections of one tenant may use 1/selectionShare of GOMEMLIMIT.
const selectionShare = 16

// renewIndexes creates an empty index for each entry of spec.related. The caller holds the lock.
func (r *registry) renewIndexes(name string, e *tracked) {
	e.closeIndexes()
	if e.compiled == nil {
		return
	}
	for range e.compiled.Related {
		e.indexes = append(e.indexes, related.NewIndex(r.selections, r.tenants.Name(name)))
	}
}

// rival returns another TemplateController that writes the same ready condition, the first by name, and the number of
// affected parents. Both report the same number, regardless of which one owns the condition of which parent. The caller
// holds the lock.
func (r *registry) rival(name string, e *tracked) (rival string, parents int64) {
	consider := func(other string) {
		if rival != "" && rival < other {
			return
		}
		rival, parents = other, e.counts.Rivals[other]
		if o := r.tracked[other]; o != nil { // otherwise, another installation may serve it
			parents += o.counts.Rivals[name]
		}
	}
	for other := range e.counts.Rivals {
		consider(other)
	}
	for other := range r.rivals[name] {
		consider(other)
	}
	return rival, parents
}

// noteRival updates rivals after the number of parents of a TemplateController whose ready condition belongs to another
// one may have changed; "" is ignored. The caller holds the lock.
func (r *registry) noteRival(name string, e *tracked, rival string) {
	switch {
	case rival == "":
	case e.counts.Rivals[rival] == 0:
		if delete(r.rivals[rival], name); len(r.rivals[rival]) == 0 {
			delete(r.rivals, rival)
		}
	case r.rivals[rival] == nil:
		r.rivals[rival] = map[string]struct{}{name: {}}
	default:
		r.rivals[rival][name] = struct{}{}
	}
}

// dropRivals resets the counts of a TemplateController, and returns its rivals. The caller holds the lock.
func (r *registry) dropRivals(name string, e *tracked) []string {
	rivals := slices.Collect(maps.Keys(e.counts.Rivals))
	e.counts = status.NewCounts()
	for _, rival := range rivals {
		r.noteRival(name, e, rival)
	}
	return rivals
}

// markSynced records that a TemplateController was synced, with any result.
func (r *registry) markSynced(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.first, name)
}

// Pending returns the TemplateControllers that existed at the start and were not synced yet.
func (r *registry) Pending() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.first))
}
