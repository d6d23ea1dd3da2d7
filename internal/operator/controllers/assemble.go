package controllers

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// builder makes the running form of TemplateControllers: of what their specs mean, the kinds of the cluster, and caches.
type builder struct {
	*registry

	store       *store
	kinds       running.Resolver
	seals       *seal.Ring
	departed    *child.Departed
	rights      *permissions.Tracker
	mayHave     func(object map[string]any, path []string) bool
	watchShares *watchShares // how many watches each TemplateController may have
}

// assembly is what a TemplateController comes to on this cluster, now: the kinds
// that are there, and what is to be watched.
type assembly struct {
	rejection *spec.Rejection
	linted    metav1.Condition
	kind      kind.Kind // of the parents
	kindErr   error     // why there is none
	lost      bool      // whether it is not served any more, since now
	children  map[schema.GroupKind]childWant
	settled   map[schema.GroupKind]bool
	former    map[schema.GroupKind]bool
	round     int64
	parents   map[string]watch.Want // by namespace; "" = all
	namespace *watch.Want           // all Namespaces, for namespaceSelector; else nil
	related   []relatedWant         // in the order of the spec
	as        string                // user that reads and writes
	reports   bool                  // whether parents report that the spec is rejected
	released  bool                  // as of the tracked TemplateController
	refused   bool                  // whether nothing is watched, because the tenant has too many watches
	// ending says what a TemplateController that is being deleted waits for, nil = nothing.
	ending *spec.Rejection
}

type childWant struct {
	kind  kind.Kind
	wants map[string]watch.Want // by namespace; "" = all; empty while the server does not have the kind
	err   error                 // why there are none, where there may be objects all the same
}

// unansweredRetry is when the server is asked again for its kinds after a failed request.
const unansweredRetry = 4 * time.Second

// assemble resolves the kinds of a TemplateController. It may request them from the server, and holds no lock
// meanwhile.
func (b *builder) assemble(tc *v1.TemplateController, e *tracked) assembly {
	b.mu.RLock()
	a := assembly{
		rejection: e.rejection, linted: e.linted, children: map[schema.GroupKind]childWant{}, settled: maps.Clone(e.settled), former: e.former, round: e.round, released: e.released,
		parents: map[string]watch.Want{}, as: spec.User(&tc.Spec),
	}
	childKinds, custom, in := maps.Clone(e.childKinds), maps.Clone(e.custom), maps.Clone(e.namespaces)
	b.mu.RUnlock()
	if b.store.accounts && a.as == "" {
		return a // the operator touches nothing by itself
	}
	for gk, version := range childKinds {
		a.children[gk] = b.childWant(gk.WithVersion(version), custom[gk], a.as, in)
	}
	b.noteCustom(e, a.children)
	if e.compiled == nil {
		return a
	}
	a.kind, a.kindErr = b.kinds.Resolve(e.compiled.GVK)
	var relatedWants []relatedWant
	if a.rejection == nil {
		relatedWants, a.rejection = b.relatedWants(e.compiled.Related, a.as)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ending := kind.Ending(a.kindErr)
	switch {
	case a.kindErr == nil:
		e.gone = false
		a.rejection = cmp.Or(a.rejection, spec.CheckKind(&tc.Spec, a.kind))
		a.reports = a.rejection != nil && a.mayReport(tc, e.compiled)
		if a.rejection == nil || a.reports || a.mayHold(tc) {
			a.watchParents(tc, e.compiled)
		}
	case ending != nil && a.mayHold(tc):
		e.gone, a.kind = false, *ending
		a.watchParents(tc, e.compiled)
	case !kind.Gone(a.kindErr):
		e.gone = false
	case !e.gone:
		e.gone, a.lost = true, true
	}
	if a.rejection == nil && len(a.parents) > 0 {
		a.related = relatedWants
	}
	return a
}

// childWant is what is to be watched of a kind in these namespaces; nil means all. Children can be in any
// version: the one that they were made in may be served no more. A kind that is not served has no objects only if it was custom: when a
// CustomResourceDefinition is deleted, all objects of it are deleted before.
func (b *builder) childWant(gvk schema.GroupVersionKind, custom bool, as string, in map[string]bool) childWant {
	found, err := b.resolveServed(gvk)
	switch {
	case custom && (kind.Gone(err) || kind.Away(err)):
		return childWant{kind: kind.Kind{Kind: gvk.Kind}}
	case kind.Gone(err):
		return childWant{kind: kind.Kind{Kind: gvk.Kind}, err: &kind.NotFoundError{GVK: gvk, Away: true}}
	case err != nil:
		return childWant{kind: kind.Kind{Kind: gvk.Kind}, err: err}
	}
	want := watch.Want{Resource: found.Resource, Labels: v1.LabelController, Role: watch.Child, As: as}
	if in == nil || !found.Namespaced {
		return childWant{kind: found, wants: map[string]watch.Want{"": want}}
	}
	wants := make(map[string]watch.Want, len(in))
	for want.Namespace = range in {
		wants[want.Namespace] = want
	}
	return childWant{kind: found, wants: wants}
}

// resolveServed returns a kind in that version, or in another one where the server does not have that.
func (b *builder) resolveServed(gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, err := b.kinds.Resolve(gvk)
	var elsewhere *kind.NotFoundError
	if errors.As(err, &elsewhere) && elsewhere.Served != "" {
		return b.kinds.Resolve(gvk.GroupKind().WithVersion(elsewhere.Served))
	}
	return found, err
}

// doubter is a Resolver that resolves a kind again whose resource was not found; kind.Resolver is one.
type doubter interface {
	Doubt(resource schema.GroupVersionResource) bool
}

// doubt has the server asked anew for kinds whose lists and watches are not found, now or a little later, and reports whether it was: an upgrade may have removed
// their version.
func (b *builder) doubt(name string, caches map[watch.Want]*watch.Cache) bool {
	kinds, can := b.kinds.(doubter)
	if !can {
		return false
	}
	asked := false
	for want, cache := range caches {
		if err := cache.Err(); err == nil || !apierrors.IsNotFound(err) {
			continue
		}
		b.queue.AddAfter(name, queue.Jitter(problem.SlowRetry)) // it may be one of several API servers that has been upgraded
		asked = kinds.Doubt(want.Resource) || asked
	}
	return asked
}

// teardownOnly reports whether nothing is done but for parents that are being deleted and have the finalizer.
func (a *assembly) teardownOnly() bool { return a.rejection != nil || kind.Ending(a.kindErr) != nil }

// recheck returns when to resolve the kinds again that no watch reports, or 0 if there are none.
func (a *assembly) recheck() time.Duration {
	errs := []error{a.kindErr}
	for _, child := range a.children {
		errs = append(errs, child.err)
	}
	for _, r := range a.related {
		errs = append(errs, r.err)
	}
	again := time.Duration(0)
	for _, err := range errs {
		var notFound *kind.NotFoundError
		switch {
		case err == nil:
		case !errors.As(err, &notFound):
			return queue.Jitter(unansweredRetry)
		case !notFound.Watched():
			again = queue.Jitter(problem.SlowRetry) // a server of its own may come to serve it: that is no definition
		}
	}
	return again
}

// mayReport reports whether it is known which objects are the parents, though the spec is rejected, so that these can report that.
func (a *assembly) mayReport(tc *v1.TemplateController, c *spec.Compiled) bool {
	byNamespace := len(tc.Spec.Watch.Namespaces) > 0 || c.NamespaceSelector != nil
	return !c.Unread && (a.kind.Namespaced || !byNamespace) && !tc.Spec.Suspend
}

func (a *assembly) watchParents(tc *v1.TemplateController, c *spec.Compiled) {
	want := watch.Want{Resource: a.kind.Resource, Labels: c.Labels.String(), Fields: c.Fields, Role: watch.Parent, As: a.as}
	if a.kind.Namespaced {
		for _, ns := range tc.Spec.Watch.Namespaces {
			want.Namespace = ns
			a.parents[ns] = want
		}
	}
	if len(a.parents) == 0 {
		want.Namespace = ""
		a.parents[""] = want
	}
	if c.NamespaceSelector != nil && a.kind.Namespaced {
		a.namespace = &watch.Want{Resource: running.Namespaces, Role: watch.Namespace, As: a.as}
	}
}

// wants is all watches of the TemplateController.
func (a *assembly) wants() []watch.Want {
	var out []watch.Want
	for _, w := range a.parents {
		out = append(out, w)
	}
	for _, child := range a.children {
		out = slices.AppendSeq(out, maps.Values(child.wants))
	}
	if a.namespace != nil {
		out = append(out, *a.namespace)
	}
	for _, r := range a.related {
		out = r.appendTo(out)
	}
	return out
}

// filterOf returns the filter of the parents, or nil if there is none. The same program has the same one, and another program knows which
// objects were parents. The filter of a rejected spec is not evaluated.
func (e *tracked) filterOf(tc *v1.TemplateController, rejected bool, changed func()) *running.Filter {
	program := e.compiled.Program
	if rejected {
		program = nil
	}
	switch {
	case tc.Spec.Watch.Filter == "":
		e.filter = nil
	case !e.filter.Of(program):
		e.filter = running.NewFilter(program, e.filter, changed)
	}
	return e.filter
}

// build puts the controller together. Where the spec is rejected it has only the
// children.
func (a *assembly) build(tc *v1.TemplateController, e *tracked, in *builder, caches map[watch.Want]*watch.Cache) *running.Controller {
	keys := in.seals.Round() // before what it says of adoption, which may be newer then
	c := &running.Controller{
		Definition: running.Definition{Name: tc.Name, Manager: v1.FieldManagerPrefix + tc.Name, Spec: &tc.Spec, Generation: e.generation},
		Access: running.Access{
			As: a.as, Cluster: in.store.clusters(a.as), Rights: in.rights.For(tc.Name, a.as, a.kind).Anywhere(spec.CrossScope(&tc.Spec)), Meter: e.meter,
		},
		Mode: running.Mode{
			Finalizer: v1.FinalizerParentPrefix + tc.Name, NeedsFinalizer: spec.NeedsFinalizer(&tc.Spec), MayHold: a.mayHold(tc), TeardownOnly: a.teardownOnly(), Rejected: a.rejection != nil, ReportsRejection: a.reports,
		},
		Caches: running.Caches{
			Kinds: in.kinds, Controllers: in.store.cache, Kind: a.kind, Parents: map[string]*watch.Cache{}, Sources: map[schema.GroupKind]running.Source{}, Settled: a.settled, Unknown: a.kindErr != nil && len(a.parents) == 0,
		},
		Round:   a.round,
		MayHave: in.mayHave,
	}
	// Also if the rest of the spec is rejected: it decides who owns the children.
	c.GVK = schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind)
	if e.compiled != nil {
		c.Program, c.Resync = e.compiled.Program, e.compiled.Resync
		c.Filter = e.filterOf(tc, c.Rejected, func() { in.queue.Add(c.Name) })
		c.Order, c.FinalOrder = e.compiled.Order, e.compiled.FinalOrder
		c.Labels, c.NamespaceSelector, c.ReadyCondition = e.compiled.Labels, e.compiled.NamespaceSelector, e.compiled.ReadyCondition
	}
	c.Factory = &child.Factory{
		Ownership: &child.Ownership{
			Controller: c.Name, Manager: c.Manager, Parents: c.GVK.GroupKind(), APIVersion: tc.Spec.Watch.APIVersion,
			Seals: in.seals, Departed: in.departed, Adopting: child.Adopting(tc, in.seals.Since()), Round: keys,
			Entries: slices.Concat(tc.Spec.Children, spec.Finals(&tc.Spec)), Levels: c.Order.Levels(),
		},
		Spec: c.Spec, Program: c.Program, ParentKind: c.Kind, Cluster: c, Clock: in.clock,
	}
	for ns, want := range a.parents {
		c.Parents[ns] = caches[want]
	}
	for gk, of := range a.children {
		s := running.Source{Kind: of.kind, Caches: make(map[string]*watch.Cache, len(of.wants)), Err: of.err, Bit: e.bit(gk), Former: a.former[gk]}
		for ns, want := range of.wants {
			s.Caches[ns] = caches[want]
		}
		c.Sources[gk] = s
	}
	if a.namespace != nil {
		c.Namespaces = caches[*a.namespace]
	} else if c.TeardownOnly {
		c.NamespaceSelector = nil
	}
	for i := range a.related {
		c.Related = append(c.Related, a.related[i].entry(&e.compiled.Related[i], e.indexes[i], caches))
	}
	return c
}
