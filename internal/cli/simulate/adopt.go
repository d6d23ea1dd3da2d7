package simulate

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// Objects from users can lack the metadata that templater adds to its children: labels, an owner reference and a valid seal. It is added
// before the reconciliation, as if templater had created them.

// vouched returns the objects of the State with valid seals. Without keys, the metadata of an object is trusted.
func (s *Simulator) vouched(in State) []map[string]any {
	parent, out := read(in.Parent), slices.Clone(in.Objects)
	for i, content := range out {
		if o := read(content); o.Label(v1.LabelChild) != "" && s.maybeOurs(o, parent) {
			out[i] = s.vouch(content, parent)
		}
	}
	return out
}

// vouch returns an object with the labels of a child of the parent, and with a valid seal.
func (s *Simulator) vouch(content map[string]any, parent *object.Object) map[string]any {
	o := read(content)
	if o.ControllerKey() == "" || o.Label(v1.LabelParentUID) == "" {
		label, name := v1.ControllerLabel(s.name)
		content = memserver.Patch(content, map[string]any{"metadata": map[string]any{"labels": map[string]any{label: name, v1.LabelParentUID: string(parent.UID())}}})
		o = read(content)
	}
	kind := s.kinds.find(child.GVKOf(content))
	if seal := s.factory(&still{}).Maker(parent).SignUnverified(kind.GroupKind(), o); seal != "" {
		content = memserver.Patch(content, map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1.AnnotationSeal: seal}}})
	}
	return content
}

// adopted returns the objects of the State, with templater's metadata on those that the templates render. changed is whether some lacked it.
func (s *Simulator) adopted(in State, desired []*child.Wanted) (out []map[string]any, changed bool) {
	parent, out := read(in.Parent), slices.Clone(in.Objects)
	yielded := map[child.ID]*child.Wanted{}
	for _, w := range desired {
		yielded[w.ID()] = w
	}
	for i, content := range out {
		w, o := yielded[child.IDOf(content)], read(content)
		if w == nil || !s.maybeOurs(o, parent) {
			continue
		}
		current := o.Annotation(v1.AnnotationHash) == "" && covers(content, w.Content)
		if o.ControllerKey() != "" && o.Label(v1.LabelParentUID) != "" && !current {
			continue
		}
		change := w.Mark(o)
		change.Annotations[v1.AnnotationSeal] = nil
		if current { // it has all desired fields, so it counts as applied
			change.Annotations[v1.AnnotationHash] = w.Hash
		}
		metadata := map[string]any{"labels": change.Labels, "annotations": change.Annotations}
		if change.Owners != nil {
			metadata["ownerReferences"] = change.Owners
		}
		out[i], changed = s.vouch(memserver.Patch(content, map[string]any{"metadata": metadata}), parent), true
	}
	return out, changed
}

// maybeOurs reports whether neither labels nor owner references name another owner.
func (s *Simulator) maybeOurs(o, parent *object.Object) bool {
	if owner, has := o.Controller(); has && owner.UID != parent.UID() {
		return false
	}
	if by := o.ControllerKey(); by != "" && by != s.name {
		return false
	}
	of := o.Label(v1.LabelParentUID)
	return of == "" || of == string(parent.UID())
}
