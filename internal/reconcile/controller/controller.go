// Package controller represents a running TemplateController: its compiled spec, and the caches of its parents, children and related objects.
package controller

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render"
)

// Resolver looks up the kinds that the API server serves; kind.Resolver implements it.
type Resolver interface {
	Resolve(gvk schema.GroupVersionKind) (kind.Kind, error)
}

// Controller is a running TemplateController. It is immutable, and replaced when anything changes. Its methods answer queries about parents and
// children. Most need the definition, the mode and the caches, so they are all methods of this type.
type Controller struct {
	Definition
	Access
	Mode
	Caches

	Factory *child.Factory // for the children of its parents
	Rollout *Rollout       // nil = all parents have the revision of this controller
	// Filter decides which objects are parents; nil = no filter.
	Filter *Filter
	Round  int64 // of reconciling all parents: see ParentSummary
	// MayHave is passed to the templates: see render.Input. It is nil if no schemas are known.
	MayHave func(object map[string]any, path []string) bool

	dry *dryRun // nil unless the writes are dry runs: see ForDryRun
}

// Definition is the compiled spec of a TemplateController.
type Definition struct {
	Name              string // of the TemplateController
	Manager           string // field manager
	Generation        int64  // of the TemplateController
	Revision          string // ID of the revision: see package revision
	Outdated          bool   // the revision is not that of the latest spec
	Spec              *v1.TemplateControllerSpec
	Program           *render.Program
	Order             *spec.Order             // of spec.children; nil = no dependencies
	FinalOrder        *spec.Order             // of spec.finalize.children
	Resync            time.Duration           // 0 = never
	GVK               schema.GroupVersionKind // of the parents
	Labels            labels.Selector
	NamespaceSelector labels.Selector // nil = all namespaces
	ReadyCondition    string          // "" = none
}

// Access is how a controller accesses the API server.
type Access struct {
	As      string // user to impersonate; "" = the operator itself
	Cluster Client // impersonates that user
	Rights  permissions.Checker
	Meter   record.Meter
}

// Mode restricts what a controller does.
type Mode struct {
	Finalizer string // of the parents, if NeedsFinalizer is true
	// NeedsFinalizer is true if the spec requires cleanup before a deleted parent is removed.
	NeedsFinalizer bool
	// MayHold is true if parents may have the finalizer, from this or an earlier spec.
	MayHold bool
	// TeardownOnly is true if only terminating parents with the finalizer are processed, because the spec is rejected or the parents' kind is
	// being deleted.
	TeardownOnly bool
	// Rejected is true if the spec is rejected, so that there are no templates.
	Rejected bool
	// ReportsRejection is true if parents that are not terminating report the rejection.
	ReportsRejection bool
}

// Caches are the watch caches of a controller.
type Caches struct {
	Kinds Resolver
	Kind  kind.Kind // of the parents
	// Unknown is true if the parents' kind cannot be read. Parents may still exist, even if the API server does not serve the kind: an
	// unavailable aggregated API keeps its objects.
	Unknown     bool
	Parents     map[string]*watch.Cache // by namespace; "" = all namespaces
	Namespaces  *watch.Cache            // nil unless NamespaceSelector is set
	Controllers *watch.Cache            // of TemplateControllers
	Sources     map[schema.GroupKind]Source
	Settled     map[schema.GroupKind]bool // kinds that are read in the version in Sources, whichever version a template uses
	Related     []*related.Entry          // in the order of the spec
}

// WithoutKinds returns a copy of the controller without these kinds of children.
func (c *Controller) WithoutKinds(kinds []schema.GroupKind) *Controller {
	next, factory := *c, *c.Factory
	next.Sources = maps.Clone(c.Sources)
	for _, gk := range kinds {
		delete(next.Sources, gk)
	}
	factory.Cluster = &next
	next.Factory = &factory
	return &next
}

// Author distinguishes text that the author of the templates wrote from text that came from data.
func (d *Definition) Author() problem.Author { return d.Program.Wrote }

// Runs reports whether the parents are reconciled, if they can be read.
func (c *Controller) Runs() bool { return !c.Spec.Suspend && !c.Unknown }

// ExecutesTemplates reports whether templates are executed for the parents.
func (c *Controller) ExecutesTemplates() bool { return c.Runs() && !c.Rejected }

// Parent returns the parent of that name if it exists and matches, or else nil. It may evaluate the filter: see Filter.
func (c *Controller) Parent(name types.NamespacedName) *object.Object {
	o := c.selected(name)
	if o == nil || !c.admits(o) {
		return nil
	}
	return o
}

// selected returns the object of that name if the selectors match, or else nil. It ignores the filter.
func (c *Controller) selected(name types.NamespacedName) *object.Object {
	cache := c.ParentCache(name.Namespace)
	if cache == nil || !c.InNamespace(name.Namespace) {
		return nil
	}
	return cache.Get(name)
}

// Excluded returns the object of that name, for a caller that knows that it is not a parent. It returns nil if there is no filter.
func (c *Controller) Excluded(name types.NamespacedName) *object.Object {
	cache := c.ParentCache(name.Namespace)
	if c.Filter == nil || cache == nil {
		return nil
	}
	return cache.Get(name)
}

// HasParent reports whether a parent with that UID is known, under any name. It reads all parents.
func (c *Controller) HasParent(uid types.UID) bool {
	found := false
	c.EachParent(func(o *object.Object) { found = found || o.UID() == uid })
	return found
}

// ParentCache returns the cache with the parents of a namespace, or nil.
func (c *Caches) ParentCache(namespace string) *watch.Cache {
	if cache := c.Parents[""]; cache != nil {
		return cache
	}
	return c.Parents[namespace]
}

// InNamespace reports whether the namespaceSelector, if any, selects the namespace.
func (c *Controller) InNamespace(namespace string) bool {
	if c.NamespaceSelector == nil {
		return true
	}
	ns := c.Namespaces.Get(types.NamespacedName{Name: namespace})
	return ns != nil && c.NamespaceSelector.Matches(ns)
}

// Selects reports whether an object with this namespace and labels matches all selectors except the fieldSelector.
func (c *Controller) Selects(namespace string, set labels.Labels) bool {
	return c.Listed(namespace) && c.InNamespace(namespace) && c.Labels.Matches(set)
}

// Listed reports whether watch.namespaces, if set, lists the namespace.
func (c *Controller) Listed(namespace string) bool {
	return len(c.Spec.Watch.Namespaces) == 0 || c.Parents[namespace] != nil
}

// Selective reports whether some objects of the kind may not match.
func (d *Definition) Selective() bool {
	w := d.Spec.Watch
	return len(w.Namespaces) > 0 || d.NamespaceSelector != nil || !d.Labels.Empty() || w.FieldSelector != "" || w.Filter != ""
}

// EachParent calls f for every matching parent. It may evaluate the filter: see Filter.
func (c *Controller) EachParent(f func(*object.Object)) {
	if c.Filter == nil {
		c.EachSelected(f)
		return
	}
	var selected []*object.Object
	c.EachSelected(func(o *object.Object) { selected = append(selected, o) })
	for _, o := range selected { // while no cache is locked
		if c.admits(o) {
			f(o)
		}
	}
}

// EachSelected calls f for every object that the selectors match, regardless of the filter. f must not call the cache of parents.
func (c *Controller) EachSelected(f func(*object.Object)) {
	for _, cache := range c.Parents {
		cache.Each(func(o *object.Object) bool {
			if c.InNamespace(o.Namespace()) {
				f(o)
			}
			return true
		})
	}
}

// ParentNames returns the names of all matching parents. It may evaluate the filter: see Filter.
func (c *Controller) ParentNames() []types.NamespacedName {
	var names []types.NamespacedName
	c.EachParent(func(o *object.Object) { names = append(names, o.Key()) })
	return names
}

// CountParents returns the number of matching parents.
func (c *Controller) CountParents() int {
	n := 0
	if c.NamespaceSelector != nil || c.Filter != nil {
		c.EachParent(func(*object.Object) { n++ })
		return n
	}
	for _, cache := range c.Parents {
		n += cache.Len()
	}
	return n
}

// Resolve returns a kind. Kinds in Sources are up to date. See child.Cluster.
func (c *Caches) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	if s := c.Sources[gvk.GroupKind()]; s.Kind.Resource.Version == gvk.Version {
		return s.Kind, nil
	}
	return c.Kinds.Resolve(gvk)
}

// Known reports whether the children of a kind are watched, in that version or in one that is used for all versions.
func (c *Caches) Known(gvk schema.GroupVersionKind) bool {
	s := c.Sources[gvk.GroupKind()]
	return (s.There() || s.Unwatched()) && (s.Kind.Resource.Version == gvk.Version || c.Settled[gvk.GroupKind()])
}

// HoldsCondition reports whether the parents' status can contain the ready condition.
func (c *Controller) HoldsCondition() bool {
	return spec.HoldsCondition(c.ReadyCondition, c.Kind)
}

// WritesStatus reports whether the controller writes the parents' status.
func (c *Controller) WritesStatus() bool {
	return spec.WritesStatus(c.Spec, c.ReadyCondition, c.Kind)
}

// OutdatedKey reports whether the key lacks the namespace that parents of the kind have. While a kind is not served, it is unknown whether it is
// namespaced, and keys have no namespace. Such a key stands for the parents of that name in all namespaces.
func (c *Caches) OutdatedKey(key queue.Key) bool {
	return c.Kind.Namespaced && key.Parent.Namespace == ""
}

// LocateParent returns the location of a parent.
func (c *Caches) LocateParent(key queue.Key) request.Location {
	return request.Location{Resource: c.Kind.Resource, Namespace: key.Parent.Namespace, Name: key.Parent.Name}
}

// Client is the access to the API server that this package needs, as one user; kube.Client implements it.
type Client interface {
	Reader
	Apply(ctx context.Context, o request.Location, body []byte, manager string) (*object.Object, error)
	ApplyStatus(ctx context.Context, o request.Location, body []byte, manager string, force bool) (*object.Object, error)
	Delete(ctx context.Context, o request.Location, d request.Deletion) error
	Merge(ctx context.Context, o request.Location, patch map[string]any, manager string) (*object.Object, error)
	Allowed(ctx context.Context, right request.Permission) (bool, error)
	Finalizers
	Metadata
}

// Metadata changes only the metadata of objects.
type Metadata interface {
	SetMetadata(ctx context.Context, o request.Location, m request.Metadata, manager string) (*object.Object, error)
	ReleaseFields(ctx context.Context, o request.Location, of request.Release) (*object.Object, error)
}

// Reader reads objects from the API server.
type Reader interface {
	Get(ctx context.Context, o request.Location) (*object.Object, error)
	GetDated(ctx context.Context, o request.Location) (*object.Object, time.Time, error)
	Selected(ctx context.Context, o request.Location, labels, fields string) (bool, error)
	Each(ctx context.Context, resource schema.GroupVersionResource, namespace string, visit func(*object.Object)) error
	EachMetadata(ctx context.Context, resource schema.GroupVersionResource, labels string, visit func(*object.Object)) error
}

// Finalizers writes finalizers.
type Finalizers interface {
	SetFinalizers(ctx context.Context, o request.Location, version string, finalizers []string) (*object.Object, error)
}
