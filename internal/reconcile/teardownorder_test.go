package reconcile_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// mapOf returns a child template for spec.finalize.children that renders a ConfigMap, with additional fields.
func mapOf(name string, more ...string) string {
	text := "    - name: " + name + "\n"
	for _, line := range more {
		text += "      " + line + "\n"
	}
	return text + "      template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: {text: {{ .spec.text }}}}'\n"
}

// finishing returns apps with these child templates in spec.finalize.children, without a timeout.
func finishing(t *testing.T, entries ...string) string {
	t.Helper()
	return with(t, apps, "spec:\n", "spec:\n  finalize:\n    order: Reverse\n    timeout: 0s\n    children:\n"+strings.Join(entries, ""))
}

// No child is deleted before the annotation records that the finalize children, which may need it, are complete.
func TestTeardownWaitsForAnnotation(t *testing.T) {
	const refused = "False FinalizerRejected: cannot write the annotation for the finalizer finalize.templater.dev/apps: the API server returned 500 InternalError"
	t.Run("of finalize children", func(t *testing.T) {
		c := settled(t, withBackup(t, "timeout: 0s"))
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		c.Settle()
		c.Refuse[noteDone] = reconciletest.ErrBroken
		c.jobEnds("Complete")
		wantRequests(t, "refused", c.Run(), noteDone, "status apps one")
		if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, refused) {
			t.Errorf("condition %q", got)
		}
		delete(c.Refuse, noteDone)
		wantRequests(t, "with the right", c.SettleWrites(), noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
	})
	t.Run("of children that stay", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.Settle()
		c.Refuse[noteDone] = reconciletest.ErrBroken
		c.KubectlDelete(one, metav1.DeletePropagationOrphan)
		wantRequests(t, "refused", c.Run(), noteDone, "status apps one")
		if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, refused) {
			t.Errorf("condition %q", got)
		}
		delete(c.Refuse, noteDone)
		wantRequests(t, "with the right", c.SettleWrites(), noteDone, "mark configmaps a", "mark clusterroles r", "finalizers[orphan] apps one")
	})
}

// A write takes effect before a watch delivers it, even if the status write, which would also deliver it, is rejected.
func TestAnnotationsAndFinalizersAreWrittenOnce(t *testing.T) {
	c := newCluster(t)
	c.Refuse["status apps one"] = reconciletest.ErrBroken
	rest := func(requests []string) []string {
		return slices.DeleteFunc(requests, func(request string) bool { return request == "status apps one" })
	}
	c.KubectlApply(withBackup(t, "timeout: 0s"))
	c.KubectlApply(app)
	wantRequests(t, "a new parent", rest(c.Run()), reconciletest.HoldParent, "create configmaps a", "create configmaps b")
	_, again := c.Reconcile("apps", "one")
	wantRequests(t, "once more", rest(again))
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.jobEnds("Complete")
	wantRequests(t, "the Job has ended", rest(c.Run()), noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b")
	_, again = c.Reconcile("apps", "one")
	wantRequests(t, "once more", rest(again))
}

// The parent is not released before the children to be orphaned can be read.
func TestOrphaningWaitsForReadableChildren(t *testing.T) {
	c := begun(t, tenants, tenant)
	c.Settle()
	c.hidesConfigMaps(t)
	c.KubectlDelete(one, metav1.DeletePropagationOrphan)
	wantRequests(t, "nothing is known", c.Run(), noteDone, "status apps one")
	const want = "False Finalizing: being deleted: waiting to list its children: templater is not allowed to list configmaps in all namespaces: "
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	if result, _ := c.Reconcile("apps", "one"); result.Retry != problem.RetrySlow {
		t.Errorf("result %+v, want another look later", result)
	}
}

// A terminating child is not orphaned: its owner references do not matter.
func TestTerminatingChildKeepsOwnerReference(t *testing.T) {
	c := begun(t, finalized(t), app)
	c.Settle()
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.KubectlDelete(configMap("a"), metav1.DeletePropagationBackground)
	c.Settle()
	c.KubectlDelete(one, metav1.DeletePropagationOrphan)
	c.Run() // writes the note
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == "orphan" }))
	})
	wantRequests(t, "the other one stays", c.SettleWrites(), "mark configmaps b", releaseParent)
	if c.Objects[one] != nil {
		t.Error("the parent is there still")
	}
}

// A ready finalize child is not sufficient if it is outdated.
func TestFinalizeChildrenMustBeUpToDate(t *testing.T) {
	for strategy, want := range map[string][]string{
		"OnDelete":   {"status apps one"},
		"CreateOnly": {noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent},
	} {
		t.Run(strategy, func(t *testing.T) {
			c := settled(t, finishing(t, mapOf("last", "updateStrategy: {type: "+strategy+"}", `readyWhen: eq ((.object.metadata.annotations).done | default "") "yes"`)))
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "it is made", c.Settle(), "create configmaps last", "status apps one")
			c.KubectlEdit(configMap("last"), func(o *unstructured.Unstructured) {
				o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), "done", "yes"))
			})
			c.KubectlEdit(one, func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, "edited", "spec", "text")
			})
			wantRequests(t, "it is ready, and the parent was edited", c.Settle(), want...)
			wantRequests(t, "once more", c.Settle())
		})
	}
}

// A readyWhen that fails is reported.
func TestFinalizeChildReadyWhenErrorIsReported(t *testing.T) {
	c := settled(t, finishing(t, mapOf("last", "readyWhen: .object.data")))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "it is made", c.Settle(), "create configmaps last", "status apps one")
	const want = "False TemplateError: children[last].readyWhen:1:1: .object.data is a map"
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) || c.Objects[configMap("a")] == nil {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

// A rejection is reported immediately, although another child template continues.
func TestRejectionIsReportedWhileOthersProgress(t *testing.T) {
	c := settled(t, finishing(t, mapOf("first"), mapOf("next", "dependsOn: [first]"), mapOf("refused")))
	c.Refuse["create configmaps refused"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "the deletion", c.Run(), "create configmaps first", "create configmaps refused", "status apps one", "create configmaps refused", "create configmaps next")
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False Child") || !strings.Contains(got, "ConfigMap ns/refused") {
		t.Errorf("ready condition %q", got)
	}
}

// Another client repeatedly deletes a finalize child.
func TestFinalizeChildrenLoopIsDetected(t *testing.T) {
	c := settled(t, finishing(t, mapOf("last", "readyWhen: 'false'")))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	for range loopBurst + 1 {
		c.RemoveNow(configMap("last"))
		c.Run()
	}
	c.Clock.SetTime(c.Clock.Now().Add(loopPause))
	c.Run()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False LoopDetected: backing off: another client keeps changing ConfigMap ns/last: ") {
		t.Errorf("ready condition is %q", got)
	}
}

// The parent's namespace is being deleted. Finalize children in other namespaces are created and completed.
func TestFinalizeChildrenInOtherNamespaces(t *testing.T) {
	ending := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "unable to create new content in namespace ns because it is being terminated",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
	far := func(name string, more ...string) string {
		return strings.Replace(mapOf(name, append(more, "scope: Cluster")...), "{name: "+name+"}", "{name: "+name+", namespace: far}", 1)
	}
	begin := func(t *testing.T, entries ...string) *cluster {
		c := settled(t, finishing(t, append(entries, mapOf("near"))...))
		c.Refuse["create configmaps near"] = ending
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		return c
	}
	t.Run("one after the other", func(t *testing.T) {
		c := begin(t, far("first"), far("next", "dependsOn: [first]"))
		c.Settle()
		if c.Objects[one] != nil || !slices.Contains(c.Requests, "create configmaps next") {
			t.Errorf("requests %q", c.Requests)
		}
	})
	t.Run("one is refused", func(t *testing.T) {
		c := settled(t, finishing(t, far("first"), mapOf("near")))
		c.Refuse["create configmaps first"], c.Refuse["create configmaps near"] = reconciletest.ErrBroken, ending
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "the deletion", c.Run(), "create configmaps first", "create configmaps near", "status apps one")
		if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildRequestFailed: cannot create ConfigMap far/first: ") {
			t.Errorf("ready condition %q", got)
		}
	})
	for strategy, waits := range map[string]bool{"OnDelete": true, "CreateOnly": false} {
		t.Run(strategy, func(t *testing.T) {
			c := begin(t, far("first", "updateStrategy: {type: "+strategy+"}", `readyWhen: eq ((.object.metadata.annotations).done | default "") "yes"`))
			c.restless = true // no event reports that the namespace accepts objects again
			c.Run()
			c.Deliver()
			at := farMap("first")
			c.KubectlEdit(at, func(o *unstructured.Unstructured) {
				o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), "done", "yes"))
			})
			c.KubectlEdit(one, func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, "edited", "spec", "text")
			})
			c.Settle()
			if (c.Objects[one] != nil) != waits {
				t.Errorf("waits is %v, want %v; requests %q", !waits, waits, c.Requests)
			}
		})
	}
}

// A child that the API server does not delete is reported and retried. The others are deleted.
func TestUndeletableChildDoesNotBlockOthers(t *testing.T) {
	c := settled(t, finalized(t, ", timeout: 0s"))
	c.Refuse["delete-foreground configmaps a"] = reconciletest.ErrBroken
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "the deletion", c.Run(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one")
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildRequestFailed: cannot delete ConfigMap ns/a: ") {
		t.Errorf("ready condition %q", got)
	}
	delete(c.Refuse, "delete-foreground configmaps a")
	wantRequests(t, "with the right", c.Settle(), "delete-foreground configmaps a", "status apps one", releaseParent)
}
