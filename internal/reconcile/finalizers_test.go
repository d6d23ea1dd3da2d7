package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestNoFinalizerIsWrittenWithoutNeed(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "a deletion", c.Settle())
	if c.Find("apps", "one") != nil {
		t.Error("the parent is there still")
	}
}

func TestChildrenAreDeletedBeforeParent(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			c := settled(t, finalized(t, ", timeout: 0s"))
			for _, name := range []string{"a", "b"} {
				c.KubectlEdit(configMap(name), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
			}
			c.Settle()
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
				o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), v1.AnnotationOrder, "1"))
				c.Seal(o)
			})
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "the last ones in the order first", c.Settle(), "delete-foreground configmaps a", "status apps one")
			const first = "False Finalizing: being deleted: waiting for its children to be deleted: ConfigMap ns/a; if one is stuck, check its metadata.finalizers"
			if got := c.Condition("apps", "one", "Ready"); got != first {
				t.Errorf("ready condition %q, want %q", got, first)
			}
			if restart {
				c.start()
				wantRequests(t, "after a restart", c.Settle())
			}
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
			wantRequests(t, "when they are gone, the others", c.Settle(), "delete-foreground configmaps b", "status apps one")
			c.KubectlEdit(configMap("b"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
			wantRequests(t, "then the parent", c.Settle(), releaseParent)
			if c.Find("apps", "one") != nil {
				t.Error("the parent is there still")
			}
		})
	}
}

func TestParentIsReleasedImmediately(t *testing.T) {
	for why, row := range map[string]struct {
		edit func(o *unstructured.Unstructured)
		how  metav1.DeletionPropagation
	}{
		"an annotation says so": {func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1.AnnotationSkipFinalize: "true"})
		}, metav1.DeletePropagationBackground},
		"its children are to stay": {func(*unstructured.Unstructured) {}, metav1.DeletePropagationOrphan},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, finalized(t))
			c.KubectlEdit(one, row.edit)
			c.Settle()
			c.KubectlDelete(one, row.how)
			if row.how == metav1.DeletePropagationOrphan {
				wantRequests(t, why, c.Run(), noteDone)
				c.letsGo()
				c.Deliver()
			}
			wantRequests(t, why, c.Run(), releaseParent)
		})
	}
}

// An object with another owner is still needed: the garbage collector keeps it, too.
func TestChildWithAnotherOwnerIsKept(t *testing.T) {
	c := settled(t, finalized(t))
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
		o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-other"}))
	})
	c.Settle()
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "deletion", c.SettleWrites(), "delete-foreground configmaps b", "status apps one", releaseParent)
}

func TestRejectedSpecStillReleasesParents(t *testing.T) {
	reported := func(why string) []string {
		if why == "the selector" {
			return nil // it is unknown which objects are parents
		}
		return []string{"status apps one"}
	}
	for why, broken := range map[string]string{
		"a template":   with(t, finalized(t), "{{ end }}", ""),
		"the selector": with(t, frontOnly(t, finalized(t)), "tier: front", "tier: '?'"),
		"the period":   withSpec(t, finalized(t), "resyncPeriod: never"),
		"the timeout":  finalized(t, ", timeout: soon"),
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(why, ", restart ", restart), func(t *testing.T) {
				c := settled(t, frontOnly(t, finalized(t)))
				c.KubectlApply(broken)
				c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
				wantRequests(t, "the edit", c.Settle(), reported(why)...)
				if restart {
					c.start()
				}
				c.KubectlDelete(one, metav1.DeletePropagationBackground)
				wantRequests(t, "the parent goes", c.Settle(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
			})
		}
	}
}

func TestParentsAreFinalizedBeforeCRDDeletion(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			c := settled(t, finalized(t))
			of := reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}]
			c.Refuse["kind App"] = &kind.NotFoundError{Definition: "apps.example.org", CRDTerminating: true, Terminating: &of}
			if restart {
				c.start()
			}
			c.controllers.kindChanged(of.GroupKind())
			wantRequests(t, "the definition goes", c.Settle())
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "its objects go", c.Settle(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
			c.Refuse["kind App"] = &kind.NotFoundError{}
			c.controllers.kindChanged(of.GroupKind())
			wantRequests(t, "it is gone", c.Settle())
		})
	}
}

// Related objects remain known until the end: a backup without them would be incomplete.
func TestFinalizeDuringCRDDeletionReadsRelatedObjects(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, withBackup(t, "timeout: 0s"), "{{ eq (len .children.maps) 0 }}", "{{ eq (len .related.jobs) 0 }}",
				"  watch:", "  related: [{name: jobs, apiVersion: batch/v1, kind: Job, select: '{name: seen}'}]\n  watch:",
				"{{ len .children.maps }}", "{{ len .related.jobs }}"))
			c.KubectlApply(job("ns", "seen", "{a: b}", "{}"))
			c.KubectlApply(app)
			c.Settle()
			of := reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}]
			c.Refuse["kind App"] = &kind.NotFoundError{Definition: "apps.example.org", CRDTerminating: true, Terminating: &of}
			if restart {
				c.start()
			}
			c.controllers.kindChanged(of.GroupKind())
			wantRequests(t, "the definition goes", c.Settle())
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "its objects go", c.Settle(), "create jobs backup", "status apps one")
			wantRequests(t, "once more", c.Settle())
			if none, _, _ := unstructured.NestedBool(c.Find("jobs", "backup").Object, "spec", "suspend"); none {
				t.Error("the backup sees no related object")
			}
			if n, _, _ := unstructured.NestedInt64(c.Find("apps", "one").Object, "status", "count"); n != 1 {
				t.Errorf("the status sees %d related objects", n)
			}
			c.jobEnds("Complete")
			wantRequests(t, "it is done", c.Settle(), noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
		})
	}
}

// hidesConfigMaps removes the controller's permission to read ConfigMaps as children, and waits until it is noticed.
func (c *cluster) hidesConfigMaps(t *testing.T) {
	t.Helper()
	for want := range c.Caches {
		if want.Role == watch.Child && want.Resource.Resource == "configmaps" {
			c.Caches[want] = reconciletest.FailedCache(t, want, reconciletest.Denial("", "list", "configmaps", "at the cluster scope"))
			c.Silent[want] = true
		}
	}
	c.Lacks[" list configmaps "] = true
	c.ControllerQueue.Add("apps")
	c.Run()
}

func TestDeletedParentWaitsForReadableChildren(t *testing.T) {
	c := settled(t, finalized(t, ", timeout: 5m"))
	c.hidesConfigMaps(t)
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "nothing is known", c.Run(), "status apps one")
	const want = "False Finalizing: being deleted: waiting to list its children: templater is not allowed to list configmaps in all namespaces: "
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
	wantRequests(t, "nothing was attempted, so that the timeout has not begun", c.Run())
}

func TestForbiddenFinalizerRemovalDoesNotBlockOthers(t *testing.T) {
	c := settled(t, finalized(t))
	c.Refuse[releaseParent] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `apps.example.org "one" is forbidden: User "x" cannot patch resource "apps" in API group "example.org" in the namespace "ns"`)
	c.Lacks[" patch apps ns"] = true
	c.KubectlApply(apps)
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.Settle()
	if got, want := c.Condition("apps", "one", "Ready"), "False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: "; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(o.Object, []string{"a", "c"}, "spec", "names")
	})
	got := c.Settle()
	if c.Objects[configMap("c")] == nil || c.Objects[configMap("b")] != nil {
		t.Errorf("the children are not as the parent says: %q", got)
	}
}

// An unavailable aggregated API keeps its objects and their finalizers.
func TestParentOfUnservedKindIsNotReleased(t *testing.T) {
	c := settled(t, finalized(t))
	for _, name := range []string{"a", "b"} {
		c.RemoveNow(configMap(name))
	}
	c.Refuse[releaseParent] = reconciletest.Unserved(one)
	c.End(one, metav1.DeletePropagationBackground)
	c.Deliver()
	result, _ := c.Reconcile("apps", "one")
	if result.Retry != problem.RetryBackoff {
		t.Errorf("retry %v, want %v", result.Retry, problem.RetryBackoff)
	}
	c.WantReady("False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: the API server does not serve this kind at the moment")
	clear(c.Refuse)
	c.Settle()
	if c.Find("apps", "one") != nil {
		t.Error("the parent is not released once its kind is served")
	}
}

// If a write of finalizers is rejected although the parent is unmodified, this is not a conflict with an edit.
func TestRejectedReleaseIsReported(t *testing.T) {
	const text = "False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: "
	for why, row := range map[string]struct {
		err  error
		want string
	}{
		"a webhook answers 404":             {refusal(http.StatusNotFound, metav1.StatusReasonNotFound, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"a webhook answers 409":             {refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"the server answers 409 every time": {conflict(one), text + "the API server returned 409 Conflict"},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, finalized(t))
			for _, name := range []string{"a", "b"} {
				c.RemoveNow(configMap(name))
			}
			c.Refuse[releaseParent] = row.err
			c.End(one, metav1.DeletePropagationBackground)
			c.Deliver()
			for range 600 {
				c.Run()
				c.Deliver()
				c.Clock.SetTime(c.Clock.Now().Add(100 * time.Millisecond))
			}
			c.WantReady(row.want)
			clear(c.Refuse)
			c.Settle()
			if c.Find("apps", "one") != nil {
				t.Error("the parent is not released once the server accepts the write")
			}
		})
	}
}
