package conditions

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// EventsResource is what the right is for that Events need.
var EventsResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// Events says that Events about parents are left out, or is nil where they are not. pending tells that there will
// soon be more to say.
func Events(c *running.Controller, recorder *record.EventRecorder) (condition *metav1.Condition, pending bool) {
	var texts []string
	for _, one := range recorder.Refused(c.Name, c.As) {
		need := permissions.Claim{As: c.As, Use: permissions.Events, Resource: EventsResource, Namespaced: true, Namespace: one.Namespace}
		if c.GVK.Group == "" && c.GVK.Kind == "Namespace" { // each is one more where Events are written
			need.Namespace, need.Unlimited = "", true
		}
		text, more := c.Rights.Missing(one.Err, need)
		pending = pending || more
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, false
	}
	texts = slices.Compact(texts)
	return &metav1.Condition{
		Type: v1.ConditionEventsWritable, Status: metav1.ConditionFalse, Reason: v1.ReasonForbidden,
		Message: "Events about parents are left out: " + strings.Join(texts, "; "),
	}, pending
}
