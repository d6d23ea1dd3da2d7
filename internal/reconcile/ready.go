package reconcile

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ready reports whether an object is ready: kstatus says Current, and it is no
// failed Pod. An object that is being deleted is not.
func ready(o *unstructured.Unstructured) bool {
	if o.GetDeletionTimestamp() != nil {
		return false
	}
	if o.GetKind() == "Pod" && o.GetAPIVersion() == "v1" {
		if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase == "Failed" {
			return false
		}
	}
	result, err := status.Compute(o)
	return err == nil && result.Status == status.CurrentStatus
}

// readyContent is ready for the renderer.
func readyContent(content map[string]any) bool {
	return ready(&unstructured.Unstructured{Object: content})
}
