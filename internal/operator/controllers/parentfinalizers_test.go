package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

const ownFinalizer = "finalizers[templater.dev/children] templatecontrollers apps"

const givenUp = "finalizers[] templatecontrollers apps"

func TestFinalizersAreSetBeforeFirstChild(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(finalized(t))
	c.KubectlApply(app)
	wantRequests(t, "a new parent", c.Settle(), ownFinalizer, reconciletest.HoldParent, "create configmaps a", "create configmaps b", "status apps one")
	if finalizes, _, _ := unstructured.NestedBool(c.Objects[appsController].Object, "status", "finalizes"); !finalizes {
		t.Error("status.finalizes is not true")
	}
	c.start()
	wantRequests(t, "after a restart", c.Settle())
}

// Children whose deletion was delayed by the previous order are deleted together once the spec has no order.
func TestRemovingFinalizeOrderDeletesChildrenTogether(t *testing.T) {
	for why, row := range map[string]struct {
		manifest string
		want     []string
	}{
		"None":              {with(t, finalized(t), "order: Reverse", "order: None"), []string{"delete configmaps b", "status apps one", "status apps one"}},
		"no finalize":       {apps, []string{releaseParent, givenUp}},
		"a broken template": {with(t, finalized(t), "{{ end }}", ""), nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, finalized(t))
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
				o.SetFinalizers([]string{"example.org/slow"})
				o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), v1.AnnotationOrder, "1"))
				c.Seal(o)
			})
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "in order", c.Settle(), "delete-foreground configmaps a", "status apps one")
			c.KubectlApply(row.manifest)
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
			wantRequests(t, "the edit", c.SettleWrites(), row.want...)
		})
	}
}

func TestRemovingFinalizeRemovesFinalizers(t *testing.T) {
	c := settled(t, finalized(t))
	c.KubectlApply(apps)
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	wantRequests(t, "an edit", c.Settle(), releaseParent, "list apps everywhere", givenUp)
	status := c.Objects[appsController].Object["status"].(map[string]any)
	if status["finalizes"] != false {
		t.Errorf("status.finalizes is %v, want false", status["finalizes"])
	}
	c.start()
	wantRequests(t, "after a restart", c.Settle())
}

func TestDeletionReleasesParentFinalizers(t *testing.T) {
	for why, row := range map[string]struct {
		manifest string
		prepare  func(c *cluster)
		want     []string
	}{
		"a parent":                  {finalized(t), func(*cluster) {}, []string{"status apps one", "list apps everywhere", releaseParent, "list apps everywhere", givenUp}},
		"one that is being deleted": {finalized(t), func(c *cluster) { c.KubectlDelete(one, metav1.DeletePropagationBackground) }, []string{"list apps everywhere", releaseParent, "list apps everywhere", givenUp}},
		"one that does not match any more, which nobody has seen": {frontOnly(t, finalized(t)), func(c *cluster) {
			o := c.Objects[one].DeepCopy()
			o.SetLabels(nil)
			c.Store(one, o)
		}, []string{"list apps everywhere", releaseParent, "list apps everywhere", givenUp}},
		"a broken spec": {finalized(t), func(c *cluster) {
			c.KubectlApply(with(t, finalized(t), "{{ end }}", ""))
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
		}, []string{"status apps one", "list apps everywhere", releaseParent, "list apps everywhere", givenUp}},
		"children that go": {withSpec(t, finalized(t), "whenDeleted: DeleteChildren"), func(*cluster) {}, []string{
			"status apps one", "list apps everywhere", releaseParent, "list apps everywhere", "delete configmaps a", "delete configmaps b", givenUp,
		}},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(why, ", restart ", restart), func(t *testing.T) {
				c := settled(t, row.manifest)
				row.prepare(c)
				c.startDeletion()
				if restart {
					c.start()
				}
				wantRequests(t, why, c.Settle(), row.want...)
				if o := c.Find("apps", "one"); o != nil && len(o.GetFinalizers()) > 0 || c.Objects[appsController] != nil {
					t.Error("a finalizer is left")
				}
			})
		}
	}
}

func TestSuspendedTemplateControllerKeepsItsFinalizers(t *testing.T) {
	c := settled(t, finalized(t))
	suspended := withSpec(t, finalized(t), "suspend: true")
	c.KubectlApply(suspended)
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "a parent goes", c.Settle())
	const waiting = "False Suspended: spec.suspend is true: nothing is created, changed or deleted, and the cleanup of parents that are being deleted is paused"
	if got := c.Condition("templatecontrollers", "apps", "Ready"); got != waiting {
		t.Errorf("ready condition %q, want %q", got, waiting)
	}
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), v1.AnnotationSkipFinalize, "true"))
	})
	wantRequests(t, "it is to go at once", c.Settle())
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	c.startDeletion()
	wantRequests(t, "the TemplateController goes", c.Settle(), "list apps everywhere")
	const text = "False Suspended: being deleted: spec.suspend is true, so parents keep the finalizer finalize.templater.dev/apps: set it to false, or remove the finalizer from the parents"
	if got := c.Condition("templatecontrollers", "apps", "Ready"); got != text {
		t.Errorf("ready condition %q, want %q", got, text)
	}
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "suspend") })
	wantRequests(t, "it goes on", c.Settle(), "list apps everywhere", releaseParent, "list apps everywhere", givenUp)
}

// A spec that is rejected because of the kind of its parents gives them no finalizer, and so needs none itself.
func TestRejectedKindGetsNoFinalizer(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, finalized(t), "kind: App}", "kind: Statusless}"))
	c.Settle()
	if finalizers := c.Find("templatecontrollers", "apps").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("finalizers %q", finalizers)
	}
	if got := c.Condition("templatecontrollers", "apps", "Accepted"); !strings.HasPrefix(got, "False NoStatusSubresource") {
		t.Errorf("condition %q", got)
	}
}

// The kind has changed, so that the spec no longer matches it.
func TestLaterRejectedKindReleasesParents(t *testing.T) {
	gk := schema.GroupKind{Group: "example.org", Kind: "App"}
	saved := reconciletest.Kinds[gk]
	t.Cleanup(func() { reconciletest.Kinds[gk] = saved })
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			reconciletest.Kinds[gk] = saved
			c := settled(t, finalized(t))
			changed := saved
			changed.Status = nil
			reconciletest.Kinds[gk] = changed
			c.controllers.kindChanged(gk)
			wantRequests(t, "it is rejected", c.Settle())
			if got := c.Condition("templatecontrollers", "apps", "Accepted"); !strings.HasPrefix(got, "False NoStatusSubresource") {
				t.Errorf("condition %q", got)
			}
			if restart {
				c.start()
			}
			c.startDeletion()
			wantRequests(t, "it goes", c.Settle(), "list apps everywhere", releaseParent, "list apps everywhere", givenUp)
		})
	}
	t.Run("from the beginning", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(with(t, finalized(t), "name: apps", "name: apps, finalizers: [example.org/x]", "kind: App}", "kind: Statusless}"))
		c.Settle()
		c.startDeletion()
		wantRequests(t, "it goes", c.Settle())
	})
}

// Only the TemplateController reports why it does not proceed.
func TestRejectedFinalizerWriteIsReported(t *testing.T) {
	refused := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request: s3cr3t`)
	const want = `False FinalizerRejected: cannot set or remove the finalizer templater.dev/children of this TemplateController: denied by admission webhook "no.example.org"`
	told := func(c *cluster, want string) {
		t.Helper()
		if got := c.Condition("templatecontrollers", "apps", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
	}
	t.Run("set", func(t *testing.T) {
		c := newCluster(t)
		c.Refuse[ownFinalizer] = refused
		c.KubectlApply(finalized(t))
		c.KubectlApply(app)
		wantRequests(t, "no parent is touched", slices.Compact(c.Run()), ownFinalizer)
		told(c, want)
		delete(c.Refuse, ownFinalizer)
		wantRequests(t, "it may again", c.Settle(), ownFinalizer, reconciletest.HoldParent, "create configmaps a", "create configmaps b", "status apps one")
		told(c, "True Ready: accepted and watching")
	})
	t.Run("removed", func(t *testing.T) {
		c := settled(t, finalized(t))
		c.Refuse[givenUp] = refused
		c.startDeletion()
		wantRequests(t, "parents go free", c.Run(), "status apps one", "list apps everywhere", releaseParent, "list apps everywhere", givenUp)
		told(c, want)
	})
	t.Run("of parents that cannot be listed", func(t *testing.T) {
		c := settled(t, finalized(t))
		c.Refuse["list apps everywhere"] = refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "s3cr3t")
		c.startDeletion()
		wantRequests(t, "it goes", c.Run(), "status apps one", "list apps everywhere")
		told(c, "False ListFailed: being deleted: waiting to list the parents that have the finalizer finalize.templater.dev/apps: the API server returned 500 InternalError")
	})
}

// While a cached parent has the finalizer, the reconciliation that removes it triggers a sync: polling is of no use.
func TestNoRequeueWhileParentKeepsFinalizer(t *testing.T) {
	c := settled(t, finalized(t))
	c.Refuse[releaseParent] = refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
	c.KubectlApply(apps)
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.Run()
	_, leave := c.controllers.Enter("apps")
	defer leave()
	c.ControllerQueue.Drop()
	c.controllers.queue.Add("apps")
	c.Run()
	if due, again := c.ControllerQueue.Due("apps"); again && due.Sub(c.Clock.Now()) <= countsDelay {
		t.Errorf("looked at again in %v", due.Sub(c.Clock.Now()))
	}
}

func TestParentThatStopsMatchingLosesFinalizer(t *testing.T) {
	unlabel := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	t.Run("while the operator looks", func(t *testing.T) {
		c := settled(t, frontOnly(t, finalized(t)))
		c.KubectlEdit(one, unlabel)
		wantRequests(t, "it leaves", c.Settle(), "get apps one", "delete configmaps a", "delete configmaps b", releaseParent, "get apps one")
	})
	t.Run("without children", func(t *testing.T) {
		c := settled(t, frontOnly(t, finalized(t)))
		c.KubectlEdit(one, func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(o.Object, nil, "spec", "names")
		})
		c.Settle()
		c.KubectlEdit(one, unlabel)
		wantRequests(t, "it leaves", c.Settle(), "get apps one", releaseParent)
	})
	t.Run("while the operator is away", func(t *testing.T) {
		c := settled(t, frontOnly(t, finalized(t)))
		for _, name := range []string{"a", "b"} {
			c.Remove(configMap(name)) // so that only the list shows it
		}
		o := c.Objects[one].DeepCopy()
		unlabel(o)
		c.Store(one, o)
		c.start()
		wantRequests(t, "it has left", c.Settle(), "list apps everywhere", "get apps one", releaseParent)
		c.start()
		wantRequests(t, "once more", c.Settle(), "list apps everywhere")
	})
	t.Run("by an edit of the selector", func(t *testing.T) {
		c := settled(t, frontOnly(t, finalized(t)))
		c.KubectlApply(with(t, frontOnly(t, finalized(t)), "tier: front", "tier: back"))
		c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
		got := c.Settle()
		wantRequests(t, "it leaves", got, "list apps everywhere", "get apps one", "delete configmaps a", "delete configmaps b", releaseParent, "get apps one")
	})
}

func TestForbiddenParentFinalizerWrite(t *testing.T) {
	denied := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `apps.example.org "one" is forbidden: User "x" cannot patch resource "apps" in API group "example.org" in the namespace "ns"`)
	const rule = `templater is not allowed to patch apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [patch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`
	t.Run("set", func(t *testing.T) {
		c := newCluster(t)
		c.Refuse[reconciletest.HoldParent] = denied
		c.Lacks[" patch apps ns"] = true
		c.KubectlApply(finalized(t))
		c.KubectlApply(app)
		got := c.Run()
		c.Clock.SetTime(c.Clock.Now().Add(time.Second))
		wantRequests(t, "no child is made", append(got, c.Run()...), ownFinalizer, reconciletest.HoldParent, reconciletest.HoldParent, "status apps one")
		if got, want := c.Condition("apps", "one", "Ready"), "False FinalizerRejected: cannot set the finalizer finalize.templater.dev/apps: "+rule; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		delete(c.Refuse, reconciletest.HoldParent)
		wantRequests(t, "it may again", c.Settle(), reconciletest.HoldParent, "create configmaps a", "create configmaps b", "status apps one")
	})
	t.Run("removed", func(t *testing.T) {
		c := settled(t, finalized(t, ", timeout: 0s"))
		c.Refuse[releaseParent] = denied
		c.Lacks[" patch apps ns"] = true
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		c.Settle()
		if got, want := c.Condition("apps", "one", "Ready"), "False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: "+rule; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		c.startDeletion()
		c.Run()
		if got, want := c.Condition("templatecontrollers", "apps", "Ready"), "False Forbidden: being deleted: cannot remove the finalizer finalize.templater.dev/apps from App ns/one: "+rule; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		delete(c.Refuse, releaseParent)
		c.Settle()
		if c.Find("apps", "one") != nil || c.Objects[appsController] != nil {
			t.Error("something is left")
		}
	})
}

func TestDeletionWithoutRequiredServiceAccount(t *testing.T) {
	for why, before := range map[string]bool{"it has never run": false, "it ran before accounts were required": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.strict = !before
			c.start()
			c.KubectlApply(finalized(t))
			c.KubectlApply(app)
			c.Settle()
			c.strict = true
			c.start()
			c.Settle()
			c.startDeletion()
			c.Deliver()
			wantRequests(t, "it goes", c.Settle())
			if !before {
				if f := c.Objects[appsController]; f != nil && len(f.GetFinalizers()) > 0 {
					t.Errorf("finalizers %v", f.GetFinalizers())
				}
				return
			}
			const want = "False ServiceAccountRequired: being deleted: cannot remove the finalizer finalize.templater.dev/apps from parents without a service account: set spec.serviceAccountRef to a ServiceAccount " +
				"that is allowed to patch the parents, or remove that finalizer from each parent, and then the finalizer templater.dev/children from this TemplateController"
			if got := c.Condition("templatecontrollers", "apps", "Ready"); got != want {
				t.Errorf("ready condition %q, want %q", got, want)
			}
		})
	}
}

// These responses are not about a single parent, so listing the parents again would not help.
func TestRejectedParentReleaseBacksOff(t *testing.T) {
	const text = "False Deleting: being deleted: cannot remove the finalizer finalize.templater.dev/apps from App ns/one: "
	for why, row := range map[string]struct {
		err  error
		want string
	}{
		"its kind is not served":      {reconciletest.Unserved(one), text + "the API server does not serve this kind at the moment"},
		"a webhook answers 409":       {refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"a webhook answers 404":       {refusal(http.StatusNotFound, metav1.StatusReasonNotFound, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"it changes again and again":  {conflict(one), "False Deleting: being deleted: removing the finalizer finalize.templater.dev/apps from its parents"},
		"the server denies it itself": {refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no"), text + "the API server returned 422 Invalid"},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, finalized(t))
			c.Refuse[releaseParent] = row.err
			c.startDeletion()
			wantRequests(t, "it goes", c.Run(), "status apps one", "list apps everywhere", releaseParent)
			if got := c.Condition("templatecontrollers", "apps", "Ready"); got != row.want {
				t.Errorf("ready condition %q, want %q", got, row.want)
			}
			wantRequests(t, "at once", c.Run())
			clear(c.Refuse)
			c.Settle()
			if c.Objects[appsController] != nil {
				t.Error("the TemplateController is not gone once the server accepts the write")
			}
		})
	}
}
