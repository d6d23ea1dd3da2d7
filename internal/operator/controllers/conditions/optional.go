package conditions

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

var podsResource = schema.GroupResource{Resource: "pods"}

// Logs returns a condition about logs that cannot be read, or nil if there are none. pending is whether the message will soon say more. Logs are
// read as the service account of the controller, after the reconciliation that asks for them, which continues without them.
func Logs(c *running.Controller, failures []podlogs.Failure) (condition *metav1.Condition, pending bool) {
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
	if n := len(texts) - problem.MostListed; n > 0 {
		texts, more = texts[:problem.MostListed], fmt.Sprintf("; and %d more", n)
	}
	condition.Message = "cannot read the logs of some Pods: " + strings.Join(texts, "; ") + more
	return condition, pending
}

// logsClaim is what the controller needs to read the logs of Pods in a namespace: the permission in all of them, if an entry may
// show Pods of all.
func logsClaim(c *running.Controller, namespace string) permissions.Claim {
	for _, e := range c.Related {
		if e.Logs != nil && len(e.Related.Namespaces) == 0 {
			namespace = ""
		}
	}
	return permissions.Claim{As: c.As, Use: permissions.Logs, Resource: podsResource, Namespaced: true, Namespace: namespace, Unlimited: true}
}

// tooManyLogs says what to do about logs that there is no room for.
func tooManyLogs(f podlogs.Failure) string {
	return oneLog(f) + fmt.Sprintf(": the memory limit for logs is reached, which is %d MiB in total and %d MiB per tenant (a namespace of service accounts); select fewer Pods in spec.related, or set a smaller logs.limitBytes",
		podlogs.MostHeld>>20, podlogs.MostHeldOfTenant>>20)
}

// oneLog names one of the logs of a failure, and says how many there are.
func oneLog(f podlogs.Failure) string {
	text := fmt.Sprintf("container %s of Pod %s/%s", f.Container, f.Namespace, f.Pod)
	if f.Logs > 1 {
		text += fmt.Sprintf(", and %d more", f.Logs-1)
	}
	return text
}

// EventsResource is the resource of the permission that Events need.
var EventsResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// Events returns a condition about Events that are dropped, or nil if none is. pending is whether the message will
// soon say more.
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
		Message: "cannot write Events about parents: " + strings.Join(texts, "; "),
	}, pending
}

// Filter says that spec.watch.filter cannot be evaluated for some objects, or is nil where it can.
func Filter(c *running.Controller) *metav1.Condition {
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
		Message: fmt.Sprintf("%s; %s affected, such as %s: no object starts or stops being a parent until the filter is corrected", why, problem.Count(objects, "object is", "objects are"), name),
	}
}

// OwnedByOthers reports whether the status says that other managers own the ready condition of
// parents or fields of their status, for the present spec.
func OwnedByOthers(tc *v1.TemplateController) bool {
	before := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionStatusWritable)
	return before != nil && (before.Reason == v1.ReasonConditionOwned || before.Reason == v1.ReasonFieldOwned) && before.ObservedGeneration == tc.Generation
}
