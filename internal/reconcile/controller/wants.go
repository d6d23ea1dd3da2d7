package controller

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Wants holds the resolved kinds of a TemplateController and the watches for them.
type Wants struct {
	Controller string                // key of the TemplateController
	As         string                // user to impersonate
	Kind       kind.Kind             // of the parents
	KindErr    error                 // why the kind is unknown
	Parents    map[string]watch.Want // by namespace; "" = all
	// Namespaces watches all Namespaces for namespaceSelector; nil = not needed.
	Namespaces *watch.Want
	Children   map[schema.GroupKind]ChildWant
	Related    []RelatedWant // in the order of the spec
	// Early has the watches for kinds of children that no parent needs yet. They are started early, so that the first
	// parent does not wait for them.
	Early []ChildWant
}

// ChildWant has the watches for a kind of children.
type ChildWant struct {
	Kind  kind.Kind
	Wants map[string]watch.Want // by namespace; "" = all; empty while the kind is not served
	Err   error                 // why there are no watches although objects may exist
}

// RelatedWant has the watches for an entry of spec.related.
type RelatedWant struct {
	Kind       kind.Kind
	Wants      map[string]watch.Want // by namespace; "" = all; empty while the kind is not served
	Namespaces *watch.Want           // all Namespaces, for namespaceSelector; nil = not needed
	Err        error                 // why there are no watches
}

// WatchParents adds the watches for the parents. Their kind must be known.
func (w *Wants) WatchParents(tc *v1.TemplateController, c *spec.Compiled) {
	want := watch.Want{Resource: w.Kind.Resource, Labels: c.Labels.String(), Fields: c.Fields, Role: watch.Parent, As: w.As}
	if w.Kind.Namespaced {
		for _, ns := range tc.Spec.Watch.Namespaces {
			want.Namespace = ns
			w.Parents[ns] = want
		}
	}
	if len(w.Parents) == 0 {
		want.Namespace = ""
		w.Parents[""] = want
	}
	if c.NamespaceSelector != nil && w.Kind.Namespaced {
		w.Namespaces = &watch.Want{Resource: Namespaces, Role: watch.Namespace, As: w.As}
	}
}

// All returns all watches.
func (w *Wants) All() []watch.Want {
	out := w.required()
	for _, child := range w.Early {
		out = slices.AppendSeq(out, maps.Values(child.Wants))
	}
	return out
}

// required returns all watches except the early ones.
func (w *Wants) required() []watch.Want {
	var out []watch.Want
	for _, want := range w.Parents {
		out = append(out, want)
	}
	for _, child := range w.Children {
		out = slices.AppendSeq(out, maps.Values(child.Wants))
	}
	if w.Namespaces != nil {
		out = append(out, *w.Namespaces)
	}
	for _, r := range w.Related {
		out = r.appendTo(out)
	}
	return out
}

// ChildrenOf returns the watches for a kind of children in these namespaces; nil means all. Children are watched in any served version, because
// the version that they were created in may no longer be served. A kind that is not served has no objects only if it was custom: before a
// CustomResourceDefinition is removed, all its objects are deleted.
func (w *Wants) ChildrenOf(kinds Resolver, gvk schema.GroupVersionKind, custom bool, in map[string]bool) ChildWant {
	found, err := ResolveServed(kinds, gvk)
	switch {
	case custom && (kind.Gone(err) || kind.IsAPIServiceUnavailable(err)):
		return ChildWant{Kind: kind.Kind{Kind: gvk.Kind}}
	case kind.Gone(err):
		return ChildWant{Kind: kind.Kind{Kind: gvk.Kind}, Err: &kind.NotFoundError{GVK: gvk, APIServiceUnavailable: true}}
	case err != nil:
		return ChildWant{Kind: kind.Kind{Kind: gvk.Kind}, Err: err}
	}
	label, _ := v1.ControllerLabel(w.Controller)
	want := watch.Want{Resource: found.Resource, Labels: label, Role: watch.Child, As: w.As}
	if in == nil || !found.Namespaced {
		return ChildWant{Kind: found, Wants: map[string]watch.Want{"": want}}
	}
	wants := make(map[string]watch.Want, len(in))
	for want.Namespace = range in {
		wants[want.Namespace] = want
	}
	return ChildWant{Kind: found, Wants: wants}
}

// RelatedOf returns the watches for spec.related, in its order. The rejection names an unsupported entry.
func (w *Wants) RelatedOf(kinds Resolver, all []spec.Related) ([]RelatedWant, *spec.Rejection) {
	var out []RelatedWant
	for i := range all {
		r := &all[i]
		one := RelatedWant{Kind: kind.Kind{Kind: r.GVK.Kind}}
		found, err := kinds.Resolve(r.GVK)
		if err != nil {
			one.Err = err
			out = append(out, one)
			continue
		}
		if rejection := r.CheckKind(w.Controller, found); rejection != nil {
			return nil, rejection
		}
		one.Kind, one.Wants = found, map[string]watch.Want{}
		want := watch.Want{Resource: found.Resource, Labels: r.Labels, Fields: r.Fields, Role: watch.Related, As: w.As}
		for _, want.Namespace = range r.Namespaces {
			one.Wants[want.Namespace] = want
		}
		if len(r.Namespaces) == 0 {
			one.Wants[""] = want
		}
		if r.NamespaceSelector != nil {
			one.Namespaces = &watch.Want{Resource: Namespaces, Role: watch.Namespace, As: w.As}
		}
		out = append(out, one)
	}
	return out, nil
}

// appendTo appends all watches.
func (w RelatedWant) appendTo(out []watch.Want) []watch.Want {
	for _, want := range w.Wants {
		out = append(out, want)
	}
	if w.Namespaces != nil {
		out = append(out, *w.Namespaces)
	}
	return out
}

// Entry returns the running entry of spec.related.
func (w RelatedWant) Entry(r *spec.Related, index *related.Index, caches map[watch.Want]*watch.Cache) *related.Entry {
	e := &related.Entry{Related: r, Kind: w.Kind, Err: w.Err, Index: index, Caches: make(map[string]*watch.Cache, len(w.Wants))}
	for ns, want := range w.Wants {
		e.Caches[ns] = caches[want]
	}
	if w.Namespaces != nil {
		e.Namespaces = caches[*w.Namespaces]
	}
	return e
}

// UnansweredRetry is the delay before discovery is retried after an error.
const UnansweredRetry = 4 * time.Second

// Recheck returns the delay before unresolved kinds are resolved again that no watch reports, or 0 if there are none.
func (w *Wants) Recheck() time.Duration {
	errs := []error{w.KindErr}
	for _, child := range w.Children {
		errs = append(errs, child.Err)
	}
	for _, r := range w.Related {
		errs = append(errs, r.Err)
	}
	again := time.Duration(0)
	for _, err := range errs {
		var notFound *kind.NotFoundError
		switch {
		case err == nil:
		case !errors.As(err, &notFound):
			return queue.Jitter(UnansweredRetry)
		case !notFound.Watched():
			again = queue.Jitter(problem.SlowRetry) // an aggregated API server may serve it, which changes no CRD
		}
	}
	return again
}

// Count returns the number of watches, excluding the early ones and those for children of the given kinds.
func (w *Wants) Count(but []schema.GroupKind) int {
	all := map[watch.Want]struct{}{}
	for _, want := range w.required() {
		all[want] = struct{}{}
	}
	n := len(all)
	for _, gk := range but {
		n -= len(w.Children[gk].Wants)
	}
	return n
}

// Unwatch removes the watches for a kind of children.
func (w *Wants) Unwatch(gk schema.GroupKind) {
	of := w.Children[gk]
	of.Wants, of.Err = nil, cmp.Or[error](of.Err, tooManyWatchesError{v1.Namespaced(w.Controller)})
	w.Children[gk] = of
}

// UnwatchAll removes all watches.
func (w *Wants) UnwatchAll() {
	w.Parents, w.Namespaces, w.Related, w.Early = map[string]watch.Want{}, nil, nil, nil
	for gk := range w.Children {
		w.Unwatch(gk)
	}
}

// Join sets the caches of a controller, except for those of related objects.
func (w *Wants) Join(c *Controller, caches map[watch.Want]*watch.Cache) {
	c.Parents, c.Sources = map[string]*watch.Cache{}, map[schema.GroupKind]Source{}
	for ns, want := range w.Parents {
		c.Parents[ns] = caches[want]
	}
	for gk, of := range w.Children {
		s := Source{Kind: of.Kind, Caches: make(map[string]*watch.Cache, len(of.Wants)), Err: of.Err}
		for ns, want := range of.Wants {
			s.Caches[ns] = caches[want]
		}
		c.Sources[gk] = s
	}
	if w.Namespaces != nil {
		c.Namespaces = caches[*w.Namespaces]
	} else if c.TeardownOnly {
		c.NamespaceSelector = nil
	}
}

// Doubt refreshes discovery for kinds whose list or watch returned NotFound, because an upgrade may have removed their version. It reports
// whether there are such kinds, and whether discovery was requested now.
func Doubt(kinds Resolver, caches map[watch.Want]*watch.Cache) (missing, asked bool) {
	doubter, can := kinds.(interface {
		Doubt(resource schema.GroupVersionResource) bool // as in kind.Resolver
	})
	if !can {
		return false, false
	}
	for want, cache := range caches {
		if err := cache.Err(); err == nil || !apierrors.IsNotFound(err) {
			continue
		}
		missing = true
		asked = doubter.Doubt(want.Resource) || asked
	}
	return missing, asked
}
