package reconcile

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// readsLogs reports whether templates may ask for logs.
func (rec *reconciliation) readsLogs() bool {
	for _, e := range rec.Related {
		if e.Logs != nil {
			return true
		}
	}
	return false
}

// errNoLogs says which Pods have logs. Authors read it.
var errNoLogs = errors.New("the argument is no Pod that the parent sees by an entry of spec.related with logs")

// logsOf returns what is known of the logs of a Pod that the parent sees: see render.Input. Where several entries show it, the first
// one with logs says how much. The argument tells which Pod, and no more: templates may have made it up.
func (rec *reconciliation) logsOf(pod map[string]any) (map[string]string, error) {
	namespace, _, _ := unstructured.NestedString(pod, "metadata", "namespace")
	name, _, _ := unstructured.NestedString(pod, "metadata", "name")
	uid, _, _ := unstructured.NestedString(pod, "metadata", "uid")
	at := types.NamespacedName{Namespace: namespace, Name: name}
	if rec.choose() != nil {
		return nil, errNoLogs // why they are not known is told
	}
	for i, e := range rec.Related {
		if e.Logs == nil {
			continue
		}
		seen := rec.look(i)
		n, found := slices.BinarySearchFunc(seen, at, func(o *object.Object, at types.NamespacedName) int { return object.CompareKeys(o.Key(), at) })
		if found && string(seen[n].UID()) == uid {
			if rec.logs == nil {
				rec.logs = rec.r.Logs.Begin(rec.key, rec.As, rec.Resync)
			}
			if err := rec.budget.Spend(seen[n].BytesAt("status")); err != nil {
				return nil, err
			}
			return rec.logs.Logs(seen[n], logOptions(e.Logs)), nil
		}
	}
	return nil, errNoLogs
}

// logOptions are what an entry says, with the defaults of the API.
func logOptions(of *v1.PodLogs) request.LogOptions {
	const lines, bytes = 20, 4096
	o := request.LogOptions{TailLines: of.TailLines, LimitBytes: of.LimitBytes, Previous: of.Previous}
	if o.TailLines == 0 {
		o.TailLines = lines
	}
	if o.LimitBytes == 0 {
		o.LimitBytes = bytes
	}
	return o
}

// endLogs gives up logs that the parent wants no more. A pass without the status template, which alone reads logs, does not know which these are.
func (rec *reconciliation) endLogs() {
	switch {
	case !rec.rendered:
	case rec.logs == nil:
		rec.r.Logs.Forget(rec.key)
	default:
		rec.logs.End()
	}
}
