package reconcile

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/fields"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// A field of a parent's status has one writer. Where another TemplateController holds it, it is left alone, or
// the two would take it from each other again and again. Who comes first keeps it: an apply says which version
// of the parent it is about, so that of two that begin at once one sees the other.

// leaveContested takes out of status what other TemplateControllers write. It returns one of those fields and
// who writes it, in words, or "".
func (p *pass) leaveContested(status map[string]any) string {
	found := ""
	for manager, held := range p.parent.AppliedByOthers(p.Manager, "status") {
		name := strings.TrimPrefix(manager, v1.FieldManagerPrefix)
		if !p.r.controllers.mayWrite(name, p) {
			continue
		}
		set, _ := fields.Set(held).Field("status")
		whole := map[string]any{"status": runtime.DeepCopyJSON(status)} // rare: only where another one writes here
		if path := set.Remove(status, ".status"); path != "" && found == "" {
			found = p.Author().Path(path, whole) + " is written by TemplateController " + problem.PublicName(name)
		}
	}
	return found
}

// mayWrite reports whether a TemplateController of that name may write the parent's status: what one that is
// gone, or has turned to other parents, has left there belongs to nobody.
func (c *Controllers) mayWrite(name string, p *pass) bool {
	if c.cache.Get(types.NamespacedName{Name: name}) == nil {
		return false
	}
	other := c.get(name)
	if other == nil {
		return true // another installation may serve it
	}
	if other.GVK.GroupKind() != p.GVK.GroupKind() {
		return false
	}
	return !other.ParentsSynced(p.key.Parent.Namespace) || other.Parent(p.key.Parent) != nil
}

// freed has parents looked at again of whose status a part is left to another TemplateController, which may
// have let go of it: one of that name, or all where it is empty.
func (c *Controllers) freed(parent types.NamespacedName) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name, e := range c.entries {
		if len(e.counts.contested) == 0 {
			continue
		}
		for at, t := range e.counts.tallies {
			if t.contested != "" && (parent.Name == "" || parent == at) {
				c.parents.Add(queue.Key{Controller: name, Parent: at})
			}
		}
	}
}
