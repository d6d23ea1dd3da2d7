package status

import (
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Owners determines which field managers, other than the TemplateController's own, own fields in the status of a parent.
type Owners struct {
	Parent  *object.Object
	Manager string // of the TemplateController
	// MayWrite reports whether the TemplateController of that name may write the parent's status. Fields of deleted TemplateControllers have no
	// owner.
	MayWrite func(name string) bool
}

// OfCondition reports whether another field manager owns a condition of that type, if the list of conditions is a map list. It also returns the
// TemplateController that owns it, or "".
func (w Owners) OfCondition(kind string) (foreign bool, rival string) {
	for manager, held := range w.Parent.Conditions {
		if manager == w.Manager {
			continue
		}
		if _, ok := held.Item(map[string]any{"type": kind}); !ok {
			continue
		}
		name := v1.KeyOfManager(manager, w.Parent.Namespace())
		if name == "" {
			return true, ""
		}
		if w.MayWrite(name) && (rival == "" || name < rival) {
			foreign, rival = true, name
		}
	}
	return foreign, rival
}

// OwnAll reports whether another field manager owns the conditions, if the list is atomic.
func (w Owners) OwnAll(conditions Conditions) bool {
	named := false // whether an owner has the name of the TemplateController's manager, which others may use for updates
	for manager := range w.Parent.Conditions {
		if manager != w.Manager {
			return true
		}
		named = true
	}
	owned, _ := w.Parent.Applied(w.Manager, "status").Field("status")
	_, held := owned.Field("conditions")
	return !held && (named || conditions.HasOthers())
}

// LeaveContested removes fields from content that other TemplateControllers own in the status. It returns a message with one of the fields and
// its owner, or "".
//
// Each status field has a single writer, to avoid ownership conflicts between TemplateControllers. The first writer keeps it: an apply includes
// the resource version that it is based on, so concurrent writers detect each other.
func (w Owners) LeaveContested(content map[string]any, author problem.Author) string {
	found := ""
	for manager, held := range w.Parent.AppliedByOthers(w.Manager, "status") {
		name := v1.KeyOfManager(manager, w.Parent.Namespace())
		if !w.MayWrite(name) {
			continue
		}
		set, _ := held.Field("status")
		whole := map[string]any{"status": runtime.DeepCopyJSON(content)} // rare: only if another TemplateController writes to this status
		if path := set.Remove(content, ".status"); path != "" && found == "" {
			found = author.Path(path, whole) + " is also written by " + problem.PublicController(name)
		}
	}
	return found
}
