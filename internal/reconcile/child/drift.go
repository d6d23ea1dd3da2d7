package child

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
)

// owned is what templater owns of an object: the fields, the content, and a hash of the values. The hash excludes the metadata that Marks
// compares. All three exclude createOnlyFields.
type owned struct {
	held    object.FieldSet
	content map[string]any
	hash    uint32
}

func (w *Wanted) owned(o *object.Object) owned {
	held, content := w.held(o), o.Content()
	return owned{held, content, beside(held, "").Hash(content)}
}

// repairs reports whether the update strategy of the child template reverts changes by other clients.
func (w *Wanted) repairs() bool {
	switch w.Entry.UpdateStrategy.Type {
	case v1.UpdateRecreate, v1.UpdateCreateOnly, v1.UpdateOnDelete:
		return false
	case v1.UpdateApply:
	}
	return true
}

// Drift returns the path of a field that templater applied and that another client changed, or "". The object must have its Marks, and must have
// been applied last from the desired content. A change that used templater's own field manager is only visible in the values: they are compared
// with the response to the last apply of this process or, if there was none, with the desired values. So fields that the API server or a webhook
// rewrites are not reported as drift.
func (w *Wanted) Drift(o *object.Object) string {
	if o.Noted(object.Covered) {
		return ""
	}
	now := w.owned(o)
	if path := w.uncovered(now.held); path != "" {
		return path
	}
	if now.hash != o.Owned() && !w.asDesired(now) {
		return ".metadata.managedFields"
	}
	o.SetOwned(now.hash)
	o.Note(object.Covered)
	return ""
}

// uncovered returns the path of a field that templater applied but no longer owns, or "".
func (w *Wanted) uncovered(held object.FieldSet) string {
	if path := held.Uncovered(w.Content); path != "" {
		return path
	}
	return held.Uncovered(w.Marks.Added())
}

// asDesired reports whether all values are as desired, and templater owns no other field. Values that the API server only writes differently are
// equal.
func (w *Wanted) asDesired(now owned) bool {
	return w.holds(now.held, now.content, !w.Kind.Custom) && now.held.Holds(w.Marks.Added(), now.content)
}
