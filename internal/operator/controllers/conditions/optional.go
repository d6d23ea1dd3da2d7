package conditions

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

var podsResource = schema.GroupResource{Resource: "pods"}

// Logs returns a condition about logs that cannot be read, or nil if there are none. pending reports whether a more
// specific message will follow soon. Logs are read as the service account of the controller, after the reconciliation
// that requests them, which continues without them.
func Logs(c *controller.Controller, failures []podlogs.Failure) (condition *metav1.Condition, pending bool) {
	if len(failures) == 0 {
		return nil, false
	}
	condition = &metav1.Condition{Type: v1.ConditionLogsReadable, Status: metav1.ConditionFalse, Reason: v1.ReasonLogRequestFailed}
	var texts []string
	known := map[string]bool{}
	for _, one := range failures {
		text, reason := "", ""
		switch {
		case one.Denied():
			var more bool
			text, more = c.Rights.Missing(one.Err, logsClaim(c, one.Namespace))
			pending, reason = pending || more, v1.ReasonForbidden
		case one.Full():
			text, reason = tooManyLogs(one), v1.ReasonTooManyLogs
		default:
			text = oneLog(one) + ": " + one.Why()
		}
		if reason == v1.ReasonForbidden || condition.Reason == v1.ReasonLogRequestFailed && reason != "" {
			condition.Reason = reason
		}
		if !known[text] {
			known[text] = true
			texts = append(texts, text)
		}
	}
	more := ""
	if n := len(texts) - problem.MaxListed; n > 0 {
		texts, more = texts[:problem.MaxListed], fmt.Sprintf("; and %d more", n)
	}
	condition.Message = "cannot read the logs of some Pods: " + strings.Join(texts, "; ") + more
	return condition, pending
}

// logsClaim returns the claim to read the logs of Pods in a namespace, or in all namespaces if an entry of spec.related
// may select Pods there.
func logsClaim(c *controller.Controller, namespace string) permissions.Requirement {
	for _, e := range c.Related {
		if e.Logs != nil && len(e.Related.Namespaces) == 0 {
			namespace = ""
		}
	}
	return permissions.Requirement{As: c.As, Use: permissions.Logs, Resource: podsResource, Namespaced: true, Namespace: namespace, Unlimited: true}
}

// tooManyLogs describes how to fix logs that exceed the memory limit.
func tooManyLogs(f podlogs.Failure) string {
	return oneLog(f) + fmt.Sprintf(": exceeds the memory limit for logs (%d MiB in total, %d MiB per namespace of service accounts): select fewer Pods in spec.related, or set a smaller logs.limitBytes",
		podlogs.MaxHeldBytes>>20, podlogs.MaxHeldBytesPerTenant>>20)
}

// oneLog returns the first log of a failure, and how many more there are.
func oneLog(f podlogs.Failure) string {
	text := fmt.Sprintf("container %s of Pod %s/%s", f.Container, f.Namespace, f.Pod)
	if f.Logs > 1 {
		text += fmt.Sprintf(", and %d more", f.Logs-1)
	}
	return text
}

// EventsResource is the resource of the permission that Events need.
var EventsResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// Events returns a condition about Events that are dropped, or nil if there are none. pending reports whether a more
// specific message will follow soon.
func Events(c *controller.Controller, recorder *record.EventRecorder) (condition *metav1.Condition, pending bool) {
	var texts []string
	for _, one := range recorder.Refused(c.Name, c.As) {
		need := permissions.Requirement{As: c.As, Use: permissions.Events, Resource: EventsResource, Namespaced: true, Namespace: one.Namespace}
		if c.GVK.Group == "" && c.GVK.Kind == "Namespace" { // the Events of each Namespace are in another namespace
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
		Message: "cannot write Events about parents: " + strings.Join(texts, "; "),
	}, pending
}

// Filter returns a condition if spec.watch.filter cannot be evaluated for some objects, or else nil.
func Filter(c *controller.Controller) *metav1.Condition {
	objects, example, why := c.Filter.Failing()
	if objects == 0 {
		return nil
	}
	name := example.Name
	if example.Namespace != "" {
		name = example.String()
	}
	return &metav1.Condition{
		Type: v1.ConditionFilterEvaluated, Status: metav1.ConditionFalse, Reason: v1.ReasonFilterFailed,
		Message: fmt.Sprintf("%s (%s affected, for example %s): until the filter is fixed, the set of parents does not change", why, problem.Count(objects, "object is", "objects are"), name),
	}
}

// OwnedByOthers reports whether the status shows, for the current spec, that other managers own the ready condition or
// other status fields of parents.
func OwnedByOthers(tc *v1.TemplateController) bool {
	before := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionStatusWritable)
	return before != nil && (before.Reason == v1.ReasonConditionOwned || before.Reason == v1.ReasonFieldOwned) && before.ObservedGeneration == tc.Generation
}
