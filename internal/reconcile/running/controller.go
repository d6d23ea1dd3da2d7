// Package running is a TemplateController at work: its compiled spec, and the caches that hold its parents, children and related objects.
package running

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

// Resolver answers which kinds the server has; kind.Resolver does.
type Resolver interface {
	Resolve(gvk schema.GroupVersionKind) (kind.Kind, error)
}

// Controller is a TemplateController that is running. It is made anew when anything about it changes, and is not changed itself. It has many
// methods, one for each question of a reconciliation about parents and children: the answers take the definition, the mode and the caches.
type Controller struct {
	Definition
	Access
	Mode
	Caches

	Factory *child.Factory // of the children of its parents
	// Filter is that of the parents; nil = none.
	Filter *Filter
	Round  int64 // of reconciliations of all parents: see ParentSummary
	// MayHave is for the templates: see render.Input. Nil where nothing is known of schemas.
	MayHave func(object map[string]any, path []string) bool
}

// Definition is the compiled spec of a TemplateController.
type Definition struct {
	Name              string // of the TemplateController
	Manager           string // field manager
	Generation        int64  // of the TemplateController
	Spec              *v1.TemplateControllerSpec
	Program           *render.Program
	Order             *spec.Order             // of spec.children; nil = none waits for another
	FinalOrder        *spec.Order             // of spec.finalize.children
	Resync            time.Duration           // 0 = never
	GVK               schema.GroupVersionKind // of the parents
	Labels            labels.Selector
	NamespaceSelector labels.Selector // nil = all namespaces
	ReadyCondition    string          // "" = none
}

// Access is how a controller reads and writes.
type Access struct {
	As      string // user; empty = the operator itself
	Cluster Client // as that user
	Rights  permissions.Subject
	Meter   record.Meter
}

// Mode is how much a controller does.
type Mode struct {
	Finalizer string // that parents have where NeedsFinalizer is true
	// NeedsFinalizer is whether the spec requires cleanup before a deleted parent is removed.
	NeedsFinalizer bool
	// MayHold is whether parents may have the finalizer, since now or since before.
	MayHold bool
	// TeardownOnly is whether nothing is done but for parents that are being deleted and have the finalizer: the spec is rejected,
	// or the parents' kind is being deleted.
	TeardownOnly bool
	// Rejected is whether the spec is rejected, so that there are no templates.
	Rejected bool
	// ReportsRejection is whether parents that are not being deleted report that.
	ReportsRejection bool
}

// Caches are what a controller watches.
type Caches struct {
	Kinds Resolver
	Kind  kind.Kind // of the parents
	// Unknown is whether the parents' kind cannot be read: there may be parents all the same, also where the server does not have
	// the kind. An API that is away keeps its objects.
	Unknown     bool
	Parents     map[string]*watch.Cache // by namespace; "" = all namespaces
	Namespaces  *watch.Cache            // nil unless NamespaceSelector is set
	Controllers *watch.Cache            // of the TemplateControllers
	Sources     map[schema.GroupKind]Source
	Settled     map[schema.GroupKind]bool // kinds whose version in Sources is kept
	Related     []*related.Entry          // in the order of the spec
}

// WithoutKinds returns the controller without these kinds of children, which it does not know any more.
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

// Author distinguishes what the author of the templates wrote from what came from data.
func (d *Definition) Author() problem.Author { return d.Program.Wrote }

// Runs reports whether its parents are reconciled, as far as they can be read.
func (c *Controller) Runs() bool { return !c.Spec.Suspend && !c.Unknown }

// Parent returns the parent of that name if it exists and matches, else nil. It may evaluate the filter: see Filter.
func (c *Controller) Parent(name types.NamespacedName) *object.Object {
	o := c.selected(name)
	if o == nil || !c.admits(o) {
		return nil
	}
	return o
}

// selected returns the object of that name if the selectors select it, whatever the filter decides, else nil.
func (c *Controller) selected(name types.NamespacedName) *object.Object {
	cache := c.ParentCache(name.Namespace)
	if cache == nil || !c.InNamespace(name.Namespace) {
		return nil
	}
	return cache.Get(name)
}

// Excluded returns the object of that name where it is none of the parents by the filter alone, else nil.
func (c *Controller) Excluded(name types.NamespacedName) *object.Object {
	cache := c.ParentCache(name.Namespace)
	if c.Filter == nil || cache == nil {
		return nil
	}
	return cache.Get(name)
}

// HasParent reports whether a parent of that UID is known, whatever its name. It reads all parents.
func (c *Controller) HasParent(uid types.UID) bool {
	found := false
	c.EachParent(func(o *object.Object) { found = found || o.UID() == uid })
	return found
}

// ParentCache returns the cache that holds the parents of a namespace, or nil.
func (c *Caches) ParentCache(namespace string) *watch.Cache {
	if cache := c.Parents[""]; cache != nil {
		return cache
	}
	return c.Parents[namespace]
}

// InNamespace reports whether the namespaceSelector, if any, selects it.
func (c *Controller) InNamespace(namespace string) bool {
	if c.NamespaceSelector == nil {
		return true
	}
	ns := c.Namespaces.Get(types.NamespacedName{Name: namespace})
	return ns != nil && c.NamespaceSelector.Matches(ns)
}

// Selects reports whether all selectors but the fieldSelector match
// an object in that namespace with those labels.
func (c *Controller) Selects(namespace string, set labels.Labels) bool {
	return c.Listed(namespace) && c.InNamespace(namespace) && c.Labels.Matches(set)
}

// Listed reports whether watch.namespaces, if any, lists the namespace.
func (c *Controller) Listed(namespace string) bool {
	return len(c.Spec.Watch.Namespaces) == 0 || c.Parents[namespace] != nil
}

// Selective reports whether an object of the kind may be no parent.
func (d *Definition) Selective() bool {
	w := d.Spec.Watch
	return len(w.Namespaces) > 0 || d.NamespaceSelector != nil || !d.Labels.Empty() || w.FieldSelector != "" || w.Filter != ""
}

// EachParent calls f for every parent that matches. It may evaluate the filter: see Filter.
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

// EachSelected calls f for every object that the selectors select, whatever the filter decides. f must not call the cache of parents.
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

// ParentNames returns the names of all parents that match. It may evaluate the filter: see Filter.
func (c *Controller) ParentNames() []types.NamespacedName {
	var names []types.NamespacedName
	c.EachParent(func(o *object.Object) { names = append(names, o.Key()) })
	return names
}

// CountParents returns how many parents match.
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

// Resolve returns a kind; that of a source is current. See child.Cluster.
func (c *Caches) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	if s := c.Sources[gvk.GroupKind()]; s.Kind.Resource.Version == gvk.Version {
		return s.Kind, nil
	}
	return c.Kinds.Resolve(gvk)
}

// Known reports whether the children of a kind are read, in that version or in one that is kept.
func (c *Caches) Known(gvk schema.GroupVersionKind) bool {
	s := c.Sources[gvk.GroupKind()]
	return (s.There() || s.Unwatched()) && (s.Kind.Resource.Version == gvk.Version || c.Settled[gvk.GroupKind()])
}

// HoldsCondition reports whether parents can hold the ready condition.
func (c *Controller) HoldsCondition() bool {
	return spec.HoldsCondition(c.ReadyCondition, c.Kind)
}

// WritesStatus reports whether there is anything to write into the parents' status.
func (c *Controller) WritesStatus() bool {
	return spec.WritesStatus(c.Spec, c.ReadyCondition, c.Kind)
}

// OutdatedKey reports whether the key names no parent of the kind as it is: while a kind is not served, it is not known
// whether its parents have namespaces, and keys are made without. Such a key stands for the parents of that
// name in all namespaces.
func (c *Caches) OutdatedKey(key queue.Key) bool {
	return c.Kind.Namespaced && key.Parent.Namespace == ""
}

// LocateParent returns where the server has a parent.
func (c *Caches) LocateParent(key queue.Key) request.Location {
	return request.Location{Resource: c.Kind.Resource, Namespace: key.Parent.Namespace, Name: key.Parent.Name}
}

// Client is the access to the API server that this package needs, as one user; kube.Client has it.
type Client interface {
	Reader
	Apply(ctx context.Context, o request.Location, body []byte, manager string) (*object.Object, error)
	ApplyStatus(ctx context.Context, o request.Location, body []byte, manager string, force bool) (*object.Object, error)
	Delete(ctx context.Context, o request.Location, d request.Deletion) error
	SetMetadata(ctx context.Context, o request.Location, m request.Metadata, manager string) (*object.Object, error)
	Allowed(ctx context.Context, right request.Right) (bool, error)
	Finalizers
}

// Reader reads single objects from the API server.
type Reader interface {
	Get(ctx context.Context, o request.Location) (*object.Object, error)
	GetDated(ctx context.Context, o request.Location) (*object.Object, time.Time, error)
	Selected(ctx context.Context, o request.Location, labels, fields string) (bool, error)
}

// Finalizers is the access to finalizers.
type Finalizers interface {
	SetFinalizers(ctx context.Context, o request.Location, version string, finalizers []string) (*object.Object, error)
	Holders(ctx context.Context, resource schema.GroupVersionResource, namespace, finalizer string) ([]request.Holder, error)
}
