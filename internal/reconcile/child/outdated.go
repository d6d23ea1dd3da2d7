package child

import (
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Outdated reports whether the object was last applied from something else than what is desired now, by the sealed hash. Under Recreate, and
// if no hash is sealed, the values of the object count: an annotation alone neither hides a change nor triggers one.
func (w *Wanted) Outdated(o *object.Object) bool {
	hash := w.sealedHash(o)
	switch {
	case hash == w.Hash:
		return false
	case hash != "" && w.Entry.UpdateStrategy.Type != v1.UpdateRecreate:
		return true
	}
	return !w.matches(o)
}

// Replaceable reports whether the object is deleted under Recreate: a seal proves that it was applied for something else, and it differs.
func (w *Wanted) Replaceable(o *object.Object) bool {
	return w.sealedHash(o) != "" && w.Outdated(o)
}

// Changes reports whether the strategy of the entry changes or replaces the object, because it is out of date.
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

// sealedHash is the hash that the seal of an object proves, or "".
func (w *Wanted) sealedHash(o *object.Object) string {
	if o.Settled(w.Marks.maker.Seals.Round()) {
		return o.Annotation(v1.AnnotationHash)
	}
	note, _ := w.Marks.says(o)
	return note.Hash
}

// NeedsMark reports whether an object lacks some of the marks, has some too many, or has a hash that is not sealed.
func (w *Wanted) NeedsMark(o *object.Object) bool {
	if w.Marks.Differ(o) {
		return true
	}
	hash := w.sealedHash(o)
	return hash != w.Hash && w.hashFor(o) != hash
}

// Mark is what gives an object its marks, and leaves alone whatever else somebody has changed.
func (w *Wanted) Mark(o *object.Object) request.Metadata { return w.Marks.change(o, w.hashFor(o)) }

// hashFor is the hash to seal if the object is not applied: that of the desired content if the object matches it, else the sealed one.
func (w *Wanted) hashFor(o *object.Object) string {
	hash := w.sealedHash(o)
	strategy := w.Entry.UpdateStrategy.Type
	switch {
	case w.Content == nil || hash == w.Hash || strategy == v1.UpdateCreateOnly:
		return hash
	case hash != "" && strategy != v1.UpdateRecreate:
		return hash
	case w.matches(o):
		return w.Hash
	}
	return hash
}

// matches reports whether an object has all desired values, and templater owns no other field of it.
func (w *Wanted) matches(o *object.Object) bool {
	return w.holds(o.Applied(w.Marks.maker.Manager, ""), o.Content(), object.EqualValues)
}

// holds reports whether content has all desired values of w, as equal compares them, and held has no other field.
func (w *Wanted) holds(held object.FieldSet, content map[string]any, equal func(a, b any) bool) bool {
	return held.Holds(w.withoutVersion(), content, equal) && !beside(held, v1.LabelManagedBy).Exceeds(w.Content)
}

// withoutVersion is Content, which may be watched in another version.
func (w *Wanted) withoutVersion() map[string]any {
	out := make(map[string]any, len(w.Content))
	for name, value := range w.Content {
		if name != "apiVersion" {
			out[name] = value
		}
	}
	return out
}

// beside is what a set holds beside the marks and a label.
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
