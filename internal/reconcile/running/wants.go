package running

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

// Wants are what a TemplateController watches on this cluster, now: the kinds that are there, and the watches of their objects.
type Wants struct {
	As      string                // user that reads
	Kind    kind.Kind             // of the parents
	KindErr error                 // why there is none
	Parents map[string]watch.Want // by namespace; "" = all
	// Namespaces are all Namespaces, for namespaceSelector; nil = it needs none.
	Namespaces *watch.Want
	Children   map[schema.GroupKind]ChildWant
	Related    []RelatedWant // in the order of the spec
}

// ChildWant is what is to be watched of a kind of children.
type ChildWant struct {
	Kind  kind.Kind
	Wants map[string]watch.Want // by namespace; "" = all; empty while the server does not have the kind
	Err   error                 // why there are none, where there may be objects all the same
}

// RelatedWant is what is to be watched for an entry of spec.related.
type RelatedWant struct {
	Kind       kind.Kind
	Wants      map[string]watch.Want // by namespace; "" = all; empty while the server does not have the kind
	Namespaces *watch.Want           // all Namespaces, for namespaceSelector; else nil
	Err        error                 // why there are no wants
}

// WatchParents adds the watches of the parents, whose kind is known.
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

// All returns all of them.
func (w *Wants) All() []watch.Want {
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

// ChildrenOf returns what is to be watched of a kind of children in these namespaces; nil means all. Children can be in any
// version: the one that they were made in may be served no more. A kind that is not served has no objects only if it was custom: when a
// CustomResourceDefinition is deleted, all objects of it are deleted before.
func (w *Wants) ChildrenOf(kinds Resolver, gvk schema.GroupVersionKind, custom bool, in map[string]bool) ChildWant {
	found, err := ResolveServed(kinds, gvk)
	switch {
	case custom && (kind.Gone(err) || kind.Away(err)):
		return ChildWant{Kind: kind.Kind{Kind: gvk.Kind}}
	case kind.Gone(err):
		return ChildWant{Kind: kind.Kind{Kind: gvk.Kind}, Err: &kind.NotFoundError{GVK: gvk, Away: true}}
	case err != nil:
		return ChildWant{Kind: kind.Kind{Kind: gvk.Kind}, Err: err}
	}
	want := watch.Want{Resource: found.Resource, Labels: v1.LabelController, Role: watch.Child, As: w.As}
	if in == nil || !found.Namespaced {
		return ChildWant{Kind: found, Wants: map[string]watch.Want{"": want}}
	}
	wants := make(map[string]watch.Want, len(in))
	for want.Namespace = range in {
		wants[want.Namespace] = want
	}
	return ChildWant{Kind: found, Wants: wants}
}

// RelatedOf returns what is to be watched for spec.related, in its order. A rejection says which entry cannot be.
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
		if rejection := r.CheckKind(found); rejection != nil {
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

// appendTo appends all wants.
func (w RelatedWant) appendTo(out []watch.Want) []watch.Want {
	for _, want := range w.Wants {
		out = append(out, want)
	}
	if w.Namespaces != nil {
		out = append(out, *w.Namespaces)
	}
	return out
}

// Entry returns the entry of spec.related at work.
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

// UnansweredRetry is when the server is asked again for its kinds after a failed request.
const UnansweredRetry = 4 * time.Second

// Recheck returns when to resolve the kinds again that no watch reports, or 0 if there are none.
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
			again = queue.Jitter(problem.SlowRetry) // a server of its own may come to serve it: that is no definition
		}
	}
	return again
}

// Count returns how many watches there are to be but for those of children of these kinds.
func (w *Wants) Count(but []schema.GroupKind) int {
	all := map[watch.Want]struct{}{}
	for _, want := range w.All() {
		all[want] = struct{}{}
	}
	n := len(all)
	for _, gk := range but {
		n -= len(w.Children[gk].Wants)
	}
	return n
}

// Unwatch removes the watches of the children of a kind.
func (w *Wants) Unwatch(gk schema.GroupKind) {
	of := w.Children[gk]
	of.Wants, of.Err = nil, cmp.Or(of.Err, ErrTooManyWatches)
	w.Children[gk] = of
}

// UnwatchAll removes all watches.
func (w *Wants) UnwatchAll() {
	w.Parents, w.Namespaces, w.Related = map[string]watch.Want{}, nil, nil
	for gk := range w.Children {
		w.Unwatch(gk)
	}
}

// Join gives a controller its caches, except for those of related objects.
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

// Doubt has the server asked anew for kinds whose lists and watches are not found: an upgrade may have removed their version. It reports
// whether there are some, and whether the server was asked now.
func Doubt(kinds Resolver, caches map[watch.Want]*watch.Cache) (missing, asked bool) {
	doubter, can := kinds.(interface {
		Doubt(resource schema.GroupVersionResource) bool // as that of a kind.Resolver
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
