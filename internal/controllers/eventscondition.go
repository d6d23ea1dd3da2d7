package controllers

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/announce"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// Events are written as the account of the controller. Where that may not do so, its TemplateController says so, and some of the
// parents that there was something to say about are looked at again, to try.

var eventsResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// tryEventsAgain has one of the parents looked at in each of the namespaces where Events were refused, to try again.
func (c *Controllers) tryEventsAgain(next *running.Controller) {
	all := c.events.Refused(next.Name, next.As)
	for _, one := range all {
		switch due := c.clock.Since(one.At) >= problem.SlowRetry; {
		case due && next.Parent(one.Key.Parent) == nil:
			c.events.Forget(one.Key) // it has left, and no pass has anything to say about it
		case due:
			c.parents.Add(one.Key)
		}
	}
	if len(all) > 0 {
		c.queue.AddAfter(next.Name, problem.SlowRetry)
	}
}

// eventsCondition says that Events about parents are left out, or is nil where they are not. pending tells that there will
// soon be more to say.
func eventsCondition(c *running.Controller, recorder *announce.Recorder) (condition *metav1.Condition, pending bool) {
	var texts []string
	for _, one := range recorder.Refused(c.Name, c.As) {
		need := rights.Claim{As: c.As, Use: rights.Events, Resource: eventsResource, Namespaced: true, Namespace: one.Namespace}
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
