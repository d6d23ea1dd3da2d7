package reconcile

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/fields"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// A field of a parent's status has one writer. Where another TemplateController holds it, it is left alone, or
// the two would take it from each other again and again. Who comes first keeps it: an apply says which version
// of the parent it is about, so that of two that begin at once one sees the other.

// leaveContested takes out of status what other TemplateControllers write. It returns one of those fields and
// who writes it, in words, or "".
func (rec *reconciliation) leaveContested(status map[string]any) string {
	found := ""
	for manager, held := range rec.parent.AppliedByOthers(rec.Manager, "status") {
		name := strings.TrimPrefix(manager, v1.FieldManagerPrefix)
		if !rec.r.Controllers.MayWrite(name, rec.GVK.GroupKind(), rec.key.Parent) {
			continue
		}
		set, _ := fields.Set(held).Field("status")
		whole := map[string]any{"status": runtime.DeepCopyJSON(status)} // rare: only where another one writes here
		if path := set.Remove(status, ".status"); path != "" && found == "" {
			found = rec.Author().Path(path, whole) + " is written by TemplateController " + problem.PublicName(name)
		}
	}
	return found
}
