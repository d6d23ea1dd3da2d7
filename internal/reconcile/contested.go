package reconcile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// A field of a parent's status has one writer. Where another TemplateController holds it, it is left alone, or
// the two would take it from each other again and again. Who comes first keeps it: an apply says which version
// of the parent it is about, so that of two that begin at once one sees the other.

// leaveContested takes out of status what other TemplateControllers write. It returns one of those fields and
// who writes it, in words, or "".
func (p *pass) leaveContested(status map[string]any) string {
	found := ""
	for manager, fields := range p.parent.AppliedByOthers(p.manager, "status") {
		name := strings.TrimPrefix(manager, v1.FieldManagerPrefix)
		if !p.r.controllers.mayWrite(name, p) {
			continue
		}
		set, _ := fieldSet(fields).in("status")
		whole := map[string]any{"status": runtime.DeepCopyJSON(status)} // rare: only where another one writes here
		if path := set.take(status, ".status"); path != "" && found == "" {
			found = p.path(path, whole) + " is written by TemplateController " + publicName(name)
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
	if other.gvk.GroupKind() != p.gvk.GroupKind() {
		return false
	}
	return !other.parentsSynced(p.key.Parent.Namespace) || other.parent(p.key.Parent) != nil
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
				c.parents.Add(Key{name, at})
			}
		}
	}
}

// take removes from content what the set holds, and returns the path of the first of it, or "". What only says
// that a mapping is there, or that a list has a value, two may say.
func (f fieldSet) take(content map[string]any, at string) string {
	first := ""
	for _, name := range sortedKeys(content) {
		below, ok := f.in(name)
		if !ok {
			continue
		}
		path, gone := below.takeValue(content, name)
		if path != "" && first == "" {
			first = at + path
		}
		if gone {
			delete(content, name)
		}
	}
	return first
}

// takeValue is take for the value under a name; gone is whether nothing of it is left.
func (f fieldSet) takeValue(content map[string]any, name string) (path string, gone bool) {
	switch value := content[name].(type) {
	case map[string]any:
		if len(f) == 0 {
			break
		}
		path = f.take(value, "."+name)
		return path, path != "" && len(value) == 0
	case []any:
		if len(f) == 0 {
			break
		}
		rest := f.untaken(value)
		if len(rest) == len(value) {
			return "", false
		}
		content[name] = rest
		return "." + name + "[]", len(rest) == 0
	}
	return "." + name, true
}

// untaken returns the items of a list that the set does not hold by their keys.
func (f fieldSet) untaken(list []any) []any {
	return slices.DeleteFunc(slices.Clone(list), f.holds)
}

// holds reports whether the set holds an item of a list by its keys.
func (f fieldSet) holds(element any) bool {
	for key := range f {
		if strings.HasPrefix(key, "k:") && itemKey(key, element) {
			return true
		}
	}
	return false
}
