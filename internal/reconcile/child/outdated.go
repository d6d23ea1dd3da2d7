package child

import (
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Outdated reports whether the object was last applied from other content than is desired now, according to the sealed hash. If it compares,
// and if no hash is sealed, the values of the object decide: an annotation alone neither hides nor triggers a change.
func (w *Wanted) Outdated(o *object.Object) bool {
	hash := w.sealedHash(o)
	switch {
	case hash == w.Hash:
		return false
	case hash != "" && !w.compares():
		return true
	}
	return !w.matches(o)
}

// compares reports whether the values of an object decide if it is outdated, even if the hash that its seal proves differs: before a replacement
// and, if no update would follow, because the hash also changes when a path is added to createOnlyFields.
func (w *Wanted) compares() bool {
	strategy := w.Entry.UpdateStrategy.Type
	return strategy == v1.UpdateRecreate || strategy == v1.UpdateOnDelete && len(w.createOnly) > 0
}

// Replaceable reports whether the object is to be deleted under Recreate: a seal proves that it was applied from other content, and its values
// differ.
func (w *Wanted) Replaceable(o *object.Object) bool {
	return w.sealedHash(o) != "" && w.Outdated(o)
}

// RecreatesImmutable reports whether the object is to be deleted if the API server rejects its update because a field is immutable: the seal proves
// that the template has changed since the object was applied. So changes by other clients or webhooks never delete it.
func (w *Wanted) RecreatesImmutable(o *object.Object) bool {
	return w.Entry.UpdateStrategy.OnImmutable == v1.OnImmutableRecreate && w.Replaceable(o)
}

// Changes reports whether the update strategy of the child template changes or replaces the object, because it is outdated.
func (w *Wanted) Changes(o *object.Object) bool {
	switch w.Entry.UpdateStrategy.Type {
	case v1.UpdateCreateOnly, v1.UpdateOnDelete:
		return false
	case v1.UpdateRecreate:
		return w.Replaceable(o)
	case v1.UpdateApply:
	}
	return w.Outdated(o)
}

// sealedHash returns the hash that the seal of an object proves, or "".
func (w *Wanted) sealedHash(o *object.Object) string {
	if o.Settled(w.Marks.maker.Seals.Round()) {
		return o.Annotation(v1.AnnotationHash)
	}
	note, _ := w.Marks.says(o)
	return note.Hash
}

// NeedsMark reports whether an object has missing or extra metadata of templater, or a hash that is not sealed.
func (w *Wanted) NeedsMark(o *object.Object) bool {
	if w.Marks.Differ(o) {
		return true
	}
	hash := w.sealedHash(o)
	return hash != w.Hash && w.hashFor(o) != hash
}

// NeedsRenewal reports whether an object that needs no other write has a seal with an old key, or createOnlyFields that templater owns.
func (w *Wanted) NeedsRenewal(o *object.Object) bool {
	return w.Marks.KeyOutdated(o) || w.NeedsRelease(o)
}

// Mark returns the patch that sets templater's metadata of an object. It does not revert other changes.
func (w *Wanted) Mark(o *object.Object) request.Metadata { return w.Marks.change(o, w.hashFor(o)) }

// hashFor returns the hash to seal if the object is not applied: the hash of the desired content if the object matches it, or else the sealed
// one.
func (w *Wanted) hashFor(o *object.Object) string {
	hash := w.sealedHash(o)
	strategy := w.Entry.UpdateStrategy.Type
	switch {
	case w.Content == nil || hash == w.Hash || strategy == v1.UpdateCreateOnly:
		return hash
	case hash != "" && !w.compares():
		return hash
	case w.matches(o):
		return w.Hash
	}
	return hash
}

// matches reports whether an object has all desired values, and templater owns no other field of it, except for createOnlyFields.
func (w *Wanted) matches(o *object.Object) bool {
	return w.holds(w.held(o), o.Content(), false)
}

// holds reports whether content has all desired values of w, and held has no other field. If quantities is true, the API server may have
// reformatted quantities.
func (w *Wanted) holds(held object.FieldSet, content map[string]any, quantities bool) bool {
	holds := held.Holds
	if quantities {
		holds = held.HoldsQuantities
	}
	return holds(w.withoutVersion(), content) && !beside(held, v1.LabelManagedBy).Exceeds(w.Content)
}

// withoutVersion returns Content without apiVersion, because the object may be watched in another version.
func (w *Wanted) withoutVersion() map[string]any {
	out := make(map[string]any, len(w.Content))
	for name, value := range w.Content {
		if name != "apiVersion" {
			out[name] = value
		}
	}
	return out
}

// beside returns the fields of a set without templater's own metadata and without the given label.
func beside(set object.FieldSet, label string) object.FieldSet {
	out := make(object.FieldSet, len(set))
	for name, below := range set {
		if metadata, ok := below.(map[string]any); ok && name == "f:metadata" {
			below = withoutMarks(metadata, label)
		}
		out[name] = below
	}
	return out
}

func withoutMarks(metadata map[string]any, label string) map[string]any {
	out := map[string]any{}
	for name, below := range metadata {
		switch name {
		case "f:ownerReferences":
			continue
		case "f:labels", "f:annotations":
			inner, _ := below.(map[string]any)
			rest := map[string]any{}
			for key, value := range inner {
				if key != "." && !strings.HasPrefix(key, "f:"+v1.GroupVersion.Group+"/") && key != "f:"+label {
					rest[key] = value
				}
			}
			if len(rest) == 0 {
				continue
			}
			below = rest
		}
		out[name] = below
	}
	return out
}
