package reconcile

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/object"
)

// ready reports whether an object is ready: kstatus says Current, and it is no
// failed Pod. An object that is being deleted is not.
func ready(o *object.Object) bool {
	switch {
	case o.Deleting() || o.Noted(object.NotReady):
		return false
	case o.Noted(object.Ready):
		return true
	case current(o.Content()):
		o.Note(object.Ready)
		return true
	}
	o.Note(object.NotReady)
	return false
}

// readyContent is ready for the renderer.
func readyContent(content map[string]any) bool {
	metadata, _ := content["metadata"].(map[string]any)
	return metadata["deletionTimestamp"] == nil && current(content)
}

// current reports whether an object is as its spec says. The answer depends
// on the object alone.
func current(content map[string]any) bool {
	u := &unstructured.Unstructured{Object: content}
	state, _ := content["status"].(map[string]any)
	if state == nil && status.GetLegacyConditionsFn(u) == nil {
		return true // kstatus takes a while to say the same of an object that reports nothing
	}
	if state["phase"] == "Failed" && u.GetKind() == "Pod" && u.GetAPIVersion() == "v1" {
		return false
	}
	result, err := status.Compute(u)
	return err == nil && result.Status == status.CurrentStatus
}
