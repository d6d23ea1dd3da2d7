package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/watch"
)

// resolver answers which kinds the server has; kind.Resolver does.
type resolver interface {
	Resolve(gvk schema.GroupVersionKind) (kind.Kind, error)
}

// controller is a TemplateController that is running. It is made anew when
// anything about it changes, and is not changed itself.
type controller struct {
	name    string
	manager string // field manager
	spec    *v1.TemplateControllerSpec
	program *render.Program
	kinds   resolver
	as      string // user; empty = the operator itself
	cluster Writer // as that user
	rights  rights.Subject
	factory *child.Factory // of the children of its parents
	resync  time.Duration  // 0 = never
	meter   measure.Meter

	gvk  schema.GroupVersionKind // of the parents
	kind kind.Kind
	// gone is since when the parents' kind is missing; zero while it is there.
	gone time.Time
	// unknown is whether the parents' kind cannot be read, though there may be parents.
	unknown    bool
	generation int64 // of the TemplateController
	round      int64 // see entry

	labels            labels.Selector
	namespaceSelector labels.Selector         // nil = all namespaces
	parents           map[string]*watch.Cache // by namespace; "" = all namespaces
	namespaces        *watch.Cache            // nil unless namespaceSelector is set
	own               *watch.Cache            // of the TemplateControllers
	sources           map[schema.GroupKind]source
	settled           map[schema.GroupKind]bool // kinds whose version in sources stays as it is
	readyCondition    string                    // "" = none
}

// source is where the children of one kind are read from.
type source struct {
	kind   kind.Kind
	caches map[string]*watch.Cache // by namespace; "" = all namespaces; empty while the server does not have the kind
	err    error                   // why there are none, where there may be objects all the same
	bit    uint64                  // what stands for the kind in tallies
}

// there reports whether the server has the kind.
func (s source) there() bool { return len(s.caches) > 0 }

// in returns the cache that holds the objects of a namespace, or nil.
func (s source) in(namespace string) *watch.Cache {
	if cache := s.caches[""]; cache != nil {
		return cache
	}
	return s.caches[namespace]
}

// scope returns the namespace of that cache, which is empty where it is of all.
func (s source) scope(namespace string) string {
	if s.caches[""] != nil {
		return ""
	}
	return namespace
}

// author tells what the author of the templates wrote from what came from data.
func (c *controller) author() problem.Author { return c.program.Wrote }

// parent returns the parent of that name when it is there and matches, else nil.
func (c *controller) parent(name types.NamespacedName) *object.Object {
	cache := c.parentCache(name.Namespace)
	if cache == nil {
		return nil
	}
	if !c.inNamespace(name.Namespace) {
		return nil
	}
	return cache.Get(name)
}

func (c *controller) parentCache(namespace string) *watch.Cache {
	if cache := c.parents[""]; cache != nil {
		return cache
	}
	return c.parents[namespace]
}

// inNamespace reports whether the namespaceSelector, if any, selects it.
func (c *controller) inNamespace(namespace string) bool {
	if c.namespaceSelector == nil {
		return true
	}
	ns := c.namespaces.Get(types.NamespacedName{Name: namespace})
	return ns != nil && c.namespaceSelector.Matches(ns)
}

// Selects reports whether all selectors but the fieldSelector match
// an object in that namespace with those labels.
func (c *controller) Selects(namespace string, set labels.Labels) bool {
	listed := len(c.spec.Watch.Namespaces) == 0 || c.parents[namespace] != nil
	return listed && c.inNamespace(namespace) && c.labels.Matches(set)
}

// selective reports whether an object of the kind may be no parent.
func (c *controller) selective() bool {
	w := c.spec.Watch
	return len(w.Namespaces) > 0 || c.namespaceSelector != nil || !c.labels.Empty() || w.FieldSelector != ""
}

// parentsSynced reports whether the parents of that namespace are all known.
func (c *controller) parentsSynced(namespace string) bool {
	if c.namespaces != nil && !c.namespaces.Synced() {
		return false
	}
	cache := c.parentCache(namespace)
	return cache == nil || cache.Synced()
}

// syncing reports whether some children in that namespace are still being read for the first time.
func (c *controller) syncing(namespace string) bool {
	for _, s := range c.sources {
		if cache := s.in(namespace); cache != nil && !cache.Synced() && cache.Err() == nil {
			return true
		}
	}
	return false
}

// readable reports whether what the cache is of is all known. Objects of a
// kind that the server does not have are: there are none.
func readable(cache *watch.Cache) bool {
	return cache == nil || cache.Synced() && cache.Err() == nil
}

// lost returns why the children of a kind that is not served are not all known, or "".
func (s source) lost() (reason, message string) {
	switch {
	case missing(s.err):
		return v1.ReasonKindNotFound, "cannot list children: " + s.err.Error() + untouched
	case s.err != nil:
		return v1.ReasonListFailed, fmt.Sprintf("cannot list children of kind %s: cannot ask the API server for its kinds: %s%s", s.kind.Kind, problem.PublicReason(s.err), untouched)
	}
	return "", ""
}

// complete reports whether all children in that namespace are known, and what they are for.
func (c *controller) complete(namespace string) bool {
	if !c.current(namespace) {
		return false
	}
	for _, s := range c.sources {
		if s.err != nil || !readable(s.in(namespace)) {
			return false
		}
	}
	return true
}

// completeEverywhere reports whether all children are known.
func (c *controller) completeEverywhere() bool {
	for _, s := range c.sources {
		if s.err != nil {
			return false
		}
		for _, cache := range s.caches {
			if !readable(cache) {
				return false
			}
		}
	}
	return true
}

// eachParent calls f for every parent that matches.
func (c *controller) eachParent(f func(*object.Object)) {
	for _, cache := range c.parents {
		cache.Each(func(o *object.Object) bool {
			if c.inNamespace(o.Namespace()) {
				f(o)
			}
			return true
		})
	}
}

// eachChild calls f for every object that carries this controller's label.
func (c *controller) eachChild(f func(source, *object.Object)) {
	for _, s := range c.sources {
		for _, cache := range s.caches {
			cache.EachChild(c.name, func(o *object.Object) { f(s, o) })
		}
	}
}

// parentOf returns the name of the parent that a child was made for.
func (c *controller) parentOf(child *object.Object) types.NamespacedName {
	name := types.NamespacedName{Name: strings.Clone(watch.ParentName(child))} // it is kept longer than the child
	if c.kind.Namespaced {
		name.Namespace = child.Namespace()
	}
	return name
}

// childrenNamed returns the children of parents of that name, whatever their UID.
func (c *controller) childrenNamed(parent types.NamespacedName) []*child.Live {
	return c.children(parent.Namespace, func(cache *watch.Cache) []*object.Object { return cache.ChildrenNamed(c.name, parent) }, c.factory.Made)
}

// childrenOf returns the children of one parent.
func (c *controller) childrenOf(parent *object.Object) []*child.Live {
	return c.children(parent.Namespace(), func(cache *watch.Cache) []*object.Object { return cache.Children(c.name, parent.UID()) }, func(o *object.Object, kind schema.GroupKind) bool { return c.factory.Belongs(o, kind, parent.UID()) })
}

// children returns those in a namespace, or in all where it is empty.
func (c *controller) children(namespace string, find func(*watch.Cache) []*object.Object, keep func(*object.Object, schema.GroupKind) bool) []*child.Live {
	var out []*child.Live
	for _, s := range c.sources {
		for in, cache := range s.caches {
			if in != namespace && in != "" && namespace != "" {
				continue
			}
			for _, o := range find(cache) {
				if keep(o, s.kind.GroupKind()) {
					out = append(out, child.NewLive(s.kind, o))
				}
			}
		}
	}
	return child.Sort(out)
}

// Resolve returns a kind; that of a source is current. See child.Cluster.
func (c *controller) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	if s := c.sources[gvk.GroupKind()]; s.kind.Resource.Version == gvk.Version {
		return s.kind, nil
	}
	return c.kinds.Resolve(gvk)
}

// Known reports whether the children of a kind are read, in that version or in one that stays as it is.
func (c *controller) Known(gvk schema.GroupVersionKind) bool {
	s := c.sources[gvk.GroupKind()]
	return s.there() && (s.kind.Resource.Version == gvk.Version || c.settled[gvk.GroupKind()])
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
