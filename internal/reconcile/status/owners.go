package status

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Owners are the managers that own fields in the status of a parent, besides a TemplateController.
type Owners struct {
	Parent  *object.Object
	Manager string // of the TemplateController
	// MayWrite reports whether a TemplateController of that name may write the parent's status. What a deleted one has left is free.
	MayWrite func(name string) bool
}

// OfCondition reports whether another manager owns a condition of that type, which is an item of a list. It also returns the
// TemplateController that owns it, or "".
func (w Owners) OfCondition(kind string) (foreign bool, rival string) {
	for manager, held := range w.Parent.Conditions {
		if manager == w.Manager {
			continue
		}
		if _, ok := held.Item(map[string]any{"type": kind}); !ok {
			continue
		}
		name, ours := strings.CutPrefix(manager, v1.FieldManagerPrefix)
		if !ours {
			return true, ""
		}
		if w.MayWrite(name) && (rival == "" || name < rival) {
			foreign, rival = true, name
		}
	}
	return foreign, rival
}

// OwnAll reports whether another manager owns the conditions where their list is one value.
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

// LeaveContested removes fields from status that other TemplateControllers write. It returns one of them and its writer, in words, or "".
//
// A field of a parent's status has one writer, or two TemplateControllers would take it from each other again and again. The first one keeps
// it: an apply names the version of the parent that it is based on, so that of two that begin at once, one sees the other.
func (w Owners) LeaveContested(content map[string]any, author problem.Author) string {
	found := ""
	for manager, held := range w.Parent.AppliedByOthers(w.Manager, "status") {
		name := strings.TrimPrefix(manager, v1.FieldManagerPrefix)
		if !w.MayWrite(name) {
			continue
		}
		set, _ := held.Field("status")
		whole := map[string]any{"status": runtime.DeepCopyJSON(content)} // rare: only where another one writes here
		if path := set.Remove(content, ".status"); path != "" && found == "" {
			found = author.Path(path, whole) + " is written by TemplateController " + problem.PublicName(name)
		}
	}
	return found
}
