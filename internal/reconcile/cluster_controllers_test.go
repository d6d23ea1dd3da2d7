package reconcile_test

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// controllers run the TemplateControllers of a cluster. A spec is compiled and its caches are filled immediately; watch events enqueue the
// affected parents. The TemplateControllers write no status and have no finalizers.
type controllers struct {
	c        *cluster
	tracked  map[string]*tracked
	departed *child.Departed
	meters   record.Meters
	rooms    *related.Memory
}

// tracked is one TemplateController.
type tracked struct {
	tc         *v1.TemplateController
	compiled   *spec.Compiled
	filter     *controller.Filter
	indexes    []*related.Index
	childKinds map[schema.GroupKind]string // with the version that was last used
	settled    map[schema.GroupKind]bool
	missing    map[schema.GroupKind]bool
	counts     *status.Counts
	round      int64
	meter      record.Meter
	current    *controller.Controller
	state      *controller.State
	rejected   bool // whether the spec is invalid
	held       bool // whether parents may have the finalizer, from this or an earlier spec
}

var templateControllers = watch.Want{Resource: v1.Resource, Role: watch.Controller}

func (cs *controllers) track(name string) *tracked {
	if cs.tracked[name] == nil {
		cs.tracked[name] = &tracked{childKinds: map[schema.GroupKind]string{}, settled: map[schema.GroupKind]bool{}, missing: map[schema.GroupKind]bool{}, counts: status.NewCounts(), meter: cs.meters.Begin(name)}
	}
	return cs.tracked[name]
}

// sync runs the current version of a TemplateController, and enqueues its parents if that, or the state of a cache, has changed.
func (cs *controllers) sync(name string) {
	packed := cs.c.Caches[templateControllers].Get(types.NamespacedName{Name: name})
	if packed == nil {
		cs.forget(name)
		return
	}
	tc := &v1.TemplateController{}
	if err := packed.Unmarshal(tc); err != nil {
		cs.c.T.Fatal(err)
	}
	e := cs.track(name)
	if e.tc == nil || e.tc.Generation != tc.Generation {
		cs.compile(e, tc)
	}
	next := cs.build(e)
	next.Obstacle() // also looks up missing permissions, as the status of the TemplateController does
	state := next.State(false)
	fresh := !state.Equal(e.state)
	e.current, e.state = next, state
	if fresh {
		cs.enqueueAll(next)
	}
}

// forget removes a deleted TemplateController.
func (cs *controllers) forget(name string) {
	delete(cs.tracked, name)
	s := cs.c.shared
	for _, m := range []interface{ ForgetController(name string) }{s.History, s.waiting, s.recorder, s.logs, s.tenants} {
		m.ForgetController(name)
	}
}

// compile compiles a new generation.
func (cs *controllers) compile(e *tracked, tc *v1.TemplateController) {
	compiled, rejection := spec.Compile(tc.Name, &tc.Spec)
	if e.rejected = rejection != nil; e.rejected {
		tc.Spec = *spec.Outline(&tc.Spec)
	}
	e.tc, e.compiled = tc, compiled
	e.held = e.held || !e.rejected && spec.NeedsFinalizer(&tc.Spec)
	e.round++
	e.counts.Begin(tc.Generation)
	clear(e.settled)
	clear(e.missing)
	for _, index := range e.indexes {
		index.Close()
	}
	e.indexes = nil
	cs.c.shared.tenants.Set(tc.Name, tc.Spec.ServiceAccountRef)
	for range compiled.Related {
		e.indexes = append(e.indexes, related.NewIndex(cs.rooms, cs.c.shared.tenants.Name(tc.Name)))
	}
}

// build returns the running controller.
func (cs *controllers) build(e *tracked) *controller.Controller {
	tc, compiled, c := e.tc, e.compiled, cs.c
	as := spec.User(&tc.Spec)
	parents, err := c.Resolve(compiled.GVK)
	ending := kind.TerminatingKind(err)
	if ending != nil {
		parents, err = *ending, nil
	}
	seals := c.shared.seals.Round()
	out := &controller.Controller{
		Definition: controller.Definition{
			Name: tc.Name, Manager: v1.FieldManagerPrefix + tc.Name, Generation: tc.Generation, Spec: &tc.Spec, Program: compiled.Program, Order: compiled.Order, FinalOrder: compiled.FinalOrder,
			Resync: compiled.Resync, GVK: compiled.GVK, Labels: compiled.Labels, NamespaceSelector: compiled.NamespaceSelector, ReadyCondition: compiled.ReadyCondition,
		},
		Access: controller.Access{As: as, Cluster: c.As(as), Rights: c.shared.rights.For(tc.Name, as, parents).Anywhere(spec.CrossScope(&tc.Spec)), Meter: e.meter},
		Mode: controller.Mode{
			Finalizer: v1.FinalizerParentPrefix + tc.Name, NeedsFinalizer: spec.NeedsFinalizer(&tc.Spec), MayHold: e.held,
			TeardownOnly: e.rejected || ending != nil, Rejected: e.rejected, ReportsRejection: e.rejected && !compiled.Unread && !tc.Spec.Suspend,
		},
		Caches: controller.Caches{
			Kinds: c, Kind: parents, Unknown: err != nil, Parents: map[string]*watch.Cache{}, Controllers: c.Caches[templateControllers],
			Sources: map[schema.GroupKind]controller.Source{}, Settled: maps.Clone(e.settled),
		},
		Round: e.round,
	}
	out.Factory = &child.Factory{
		Ownership: &child.Ownership{
			Controller: out.Name, Manager: out.Manager, Parents: out.GVK.GroupKind(), APIVersion: tc.Spec.Watch.APIVersion, Seals: c.shared.seals, Departed: cs.departed,
			Adopting: child.Adopting(tc, c.shared.seals.Since()), Round: seals, Entries: slices.Concat(tc.Spec.Children, spec.Finals(&tc.Spec)), Levels: out.Order.Levels(),
		},
		Spec: out.Spec, Program: out.Program, ParentKind: out.Kind, Cluster: out, Clock: c.Clock,
	}
	if tc.Spec.Watch.Filter != "" {
		e.filter = e.filter.For(compiled.Program, func() { cs.c.ControllerQueue.Add(out.Name) })
		out.Filter = e.filter
	}
	cs.attach(e, out)
	return out
}

// attach sets the caches of a running controller.
func (cs *controllers) attach(e *tracked, out *controller.Controller) {
	var all []watch.Want
	want := func(w watch.Want) *watch.Cache {
		if w.As = out.As; !slices.Contains(all, w) {
			all = append(all, w)
		}
		caches, err := cs.c.Set(out.Name, all)
		if err != nil {
			cs.c.T.Fatal(err)
		}
		return caches[w]
	}
	if !out.Unknown {
		for _, ns := range namespacesOr(out.Kind.Namespaced, out.Spec.Watch.Namespaces) {
			out.Parents[ns] = want(watch.Want{Resource: out.Kind.Resource, Namespace: ns, Labels: out.Labels.String(), Fields: e.compiled.Fields, Role: watch.Parent})
		}
	}
	if out.TeardownOnly {
		out.NamespaceSelector = nil
	}
	if out.NamespaceSelector != nil {
		out.Namespaces = want(watch.Want{Resource: controller.Namespaces, Role: watch.Namespace})
	}
	for gk, version := range e.childKinds {
		out.Sources[gk] = cs.source(gk, version, out, want)
	}
	for i := range e.compiled.Related {
		r := &e.compiled.Related[i]
		entry := &related.Entry{Related: r, Index: e.indexes[i], Caches: map[string]*watch.Cache{}}
		if entry.Kind, entry.Err = cs.c.Resolve(r.GVK); entry.Err == nil {
			for _, ns := range namespacesOr(true, r.Namespaces) {
				entry.Caches[ns] = want(watch.Want{Resource: entry.Kind.Resource, Namespace: ns, Labels: r.Labels, Fields: r.Fields, Role: watch.Related})
			}
			if r.NamespaceSelector != nil {
				entry.Namespaces = want(watch.Want{Resource: controller.Namespaces, Role: watch.Namespace})
			}
		}
		out.Related = append(out.Related, entry)
	}
}

// source returns where the children of a kind are read from. A custom kind that is not served has no objects.
func (cs *controllers) source(gk schema.GroupKind, version string, out *controller.Controller, want func(watch.Want) *watch.Cache) controller.Source {
	s := controller.Source{Caches: map[string]*watch.Cache{}}
	if s.Kind, s.Err = cs.c.Resolve(gk.WithVersion(version)); s.Err != nil {
		if kind.Gone(s.Err) && reconciletest.Kinds[gk].Custom {
			s.Err = nil
		}
		s.Kind = kind.Kind{Kind: gk.Kind}
		return s
	}
	for _, ns := range namespacesOr(s.Kind.Namespaced, spec.ChildNamespaces(out.Spec)) {
		s.Caches[ns] = want(watch.Want{Resource: s.Kind.Resource, Namespace: ns, Labels: v1.LabelController, Role: watch.Child})
	}
	return s
}

// namespacesOr returns these namespaces, or "" for all.
func namespacesOr(namespaced bool, some []string) []string {
	if !namespaced || len(some) == 0 {
		return []string{""}
	}
	return some
}

// enqueueAll enqueues all parents, and the missing parents that children name.
func (cs *controllers) enqueueAll(next *controller.Controller) {
	keys := map[queue.Key]struct{}{}
	for _, name := range next.ParentNames() {
		keys[queue.Key{Controller: next.Name, Parent: name}] = struct{}{}
	}
	for key := range keys {
		cs.c.ParentQueue.Forget(key)
	}
	next.EachChild(func(s controller.Source, o *object.Object) {
		if name, concerned := next.Concerned(o, s.Kind.GroupKind()); concerned {
			keys[queue.Key{Controller: next.Name, Parent: name}] = struct{}{}
		}
	})
	for name := range cs.tracked[next.Name].counts.ByParent {
		keys[queue.Key{Controller: next.Name, Parent: name}] = struct{}{}
	}
	cs.c.shared.backlog.Add(next.Name, slices.Collect(maps.Keys(keys)))
}
