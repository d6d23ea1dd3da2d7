package reconcile_test

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

const isSuspended = `Unknown Suspended: the annotation templater.dev/suspend is "true": nothing is created, changed or deleted until it is removed`

// annotate sets an annotation of the parent one; "" removes it.
func (c *cluster) annotate(name, value string) {
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		all := map[string]string{}
		for key, other := range o.GetAnnotations() {
			all[key] = other
		}
		if all[name] = value; value == "" {
			delete(all, name)
		}
		o.SetAnnotations(all)
	})
}

func (c *cluster) suspend() { c.annotate(v1.AnnotationSuspend, "true") }

func (c *cluster) resume() { c.annotate(v1.AnnotationSuspend, "") }

func TestSuspendedParentIsNotReconciled(t *testing.T) {
	edit := func(c *cluster) { c.KubectlApply(newApp(withChildren("b", "c"), withText("bye"))) }
	for _, row := range []struct {
		why     string
		change  func(c *cluster)
		resumed []string
	}{
		{"nothing changes", func(*cluster) {}, []string{"status apps one"}},
		{"the parent is edited", edit, []string{"update configmaps b", "create configmaps c", "delete configmaps a", "status apps one", "status apps one"}},
		{"a child is edited", func(c *cluster) {
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.Object["data"].(map[string]any)["text"] = "edited" })
		}, []string{"update configmaps a", "status apps one"}},
		{"a child is deleted", func(c *cluster) { c.RemoveNow(configMap("a")) }, []string{"create configmaps a", "status apps one"}},
		{"the TemplateController changes", func(c *cluster) {
			c.KubectlApply(withStatus(t, apps, "count: 7"))
		}, []string{"status apps one"}},
		{"the finalizer is needed", func(c *cluster) { c.KubectlApply(finalized(t)) }, []string{reconciletest.HoldParent, "status apps one"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, apps, app)
			c.suspend()
			wantRequests(t, "suspended", c.Settle(), "status apps one")
			c.WantReady(isSuspended)
			row.change(c)
			c.Settle()
			c.WantReady(isSuspended)
			result, requests := c.Reconcile("apps", "one")
			wantRequests(t, "a second reconciliation", requests)
			if result.Outcome != record.Skipped || result.After != 0 || result.Retry != problem.RetryOnChange {
				t.Errorf("result %+v", result)
			}
			if n := c.controllers.tracked["apps"].counts.Parents; n.Suspended != 1 || n.Total != 1 || n.Updated+n.Ready+n.Failed+n.Waiting != 0 {
				t.Errorf("counts %+v, want one suspended parent", n)
			}
			c.resume()
			wantRequests(t, "resumed", c.Settle(), row.resumed...)
			wantRequests(t, "a second run", c.Settle())
		})
	}
}

func TestSuspendedParentWritesNothing(t *testing.T) {
	broken := invalid(t, apps)
	for _, row := range []struct {
		why, value string
		prepare    func(c *cluster)
		want       []string
		ready      string
	}{
		{"an edit", "true", func(c *cluster) { c.KubectlApply(newApp(withChildren("c"))) }, []string{"status apps one"}, isSuspended},
		{"a rejected spec", "true", func(c *cluster) { c.KubectlApply(broken) }, []string{"status apps one"}, isSuspended},
		{"a suspended TemplateController takes precedence", "true", func(c *cluster) { c.KubectlApply(withSpec(t, apps, "suspend: true")) }, nil, "True Ready: all children are ready: 2"},
		{"another value", "yes", func(*cluster) {}, nil, "True Ready: all children are ready: 2"},
		{"false", "false", func(*cluster) {}, nil, "True Ready: all children are ready: 2"},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, apps, app)
			c.annotate(v1.AnnotationSuspend, row.value)
			row.prepare(c)
			wantRequests(t, "the requests", c.Settle(), row.want...)
			c.WantReady(row.ready)
			wantRequests(t, "a second run", c.Settle())
		})
	}
}

// A parent that is suspended when it is created gets its children when it is resumed.
func TestNewParentCanBeSuspended(t *testing.T) {
	c := begun(t, apps, with(t, app, "{namespace: ns,", "{annotations: {templater.dev/suspend: 'true'}, namespace: ns,"))
	c.WantReady(isSuspended)
	if c.Find("configmaps", "a") != nil {
		t.Error("a child is created")
	}
	c.resume()
	wantRequests(t, "resumed", c.Settle(), "create configmaps a", "create configmaps b", "status apps one")
}

// The observed generation of the condition shows that an edit was seen.
func TestSuspendedConditionHasGeneration(t *testing.T) {
	c := begun(t, apps, app)
	c.suspend()
	c.Settle()
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "an edit", c.Settle(), "status apps one")
	conditions, _, _ := unstructured.NestedSlice(c.Objects[one].Object, "status", "conditions")
	if got := conditions[0].(map[string]any)["observedGeneration"]; got != c.Objects[one].GetGeneration() {
		t.Errorf("observedGeneration %v, want %d", got, c.Objects[one].GetGeneration())
	}
}

func TestSuspensionWithoutPermissionIsRetried(t *testing.T) {
	c := begun(t, apps, app)
	c.Refuse["status apps one"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	c.suspend()
	c.Run()
	if n := c.controllers.tracked["apps"].counts; n.Parents.Suspended != 1 || n.Parents.Failed != 0 || n.Failing(nil) != nil {
		t.Errorf("counts %+v, failing %v", n.Parents, n.Failing(nil))
	}
	clear(c.Refuse)
	wantRequests(t, "it is allowed", c.Settle(), "status apps one")
	c.WantReady(isSuspended)
}

func TestSuspendedParentKeepsFinalizer(t *testing.T) {
	for _, row := range []struct {
		why    string
		resume func(c *cluster)
		want   []string
	}{
		{"it is resumed", (*cluster).resume, []string{"delete-foreground configmaps a", "status apps one", "delete-foreground configmaps b", "status apps one", releaseParent}},
		{"its cleanup is skipped", func(c *cluster) { c.annotate(v1.AnnotationSkipFinalize, "true") }, []string{releaseParent}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := settled(t, finalized(t))
			c.suspend()
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "the deletion", c.SettleWrites(), "status apps one")
			c.WantReady(isSuspended)
			wantRequests(t, "a second run", c.SettleWrites())
			row.resume(c)
			got := c.SettleWrites()
			if row.why != "it is resumed" {
				wantRequests(t, row.why, got, row.want...)
			}
			if c.Objects[one] != nil || c.Find("configmaps", "a") != nil {
				t.Errorf("requests %q: the parent or a child is left", got)
			}
		})
	}
}

func TestSuspensionRestartsTimeout(t *testing.T) {
	c := heldBack(t, finalized(t, ", timeout: 5m"))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Deliver()
	c.suspend()
	c.Run()
	c.Advance(10 * cleanupTimeout)
	wantRequests(t, "suspended", c.ReconcileOne())
	c.resume()
	c.Run()
	c.Deliver()
	c.wantsReleaseAfter(t, cleanupTimeout)
}

// The watch has not delivered the suspension yet when the timeout is over.
func TestTimeoutReadsSuspension(t *testing.T) {
	c := heldBack(t, finalized(t, ", timeout: 5m"))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Deliver()
	c.Advance(cleanupTimeout + time.Second)
	newer := c.Objects[one].DeepCopy()
	newer.SetAnnotations(reconciletest.Plus(newer.GetAnnotations(), v1.AnnotationSuspend, "true"))
	c.Store(one, newer)
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "the timeout", requests, reconciletest.ReadParent)
}

func TestSuspendedParentIsNotReleased(t *testing.T) {
	for _, row := range []struct {
		why, manifest string
		leave         func(c *cluster)
		polls         bool // whether no watch shows the parent
		released      []string
	}{
		{"a selector", frontOnly(t, finalized(t)), func(c *cluster) {
			c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetLabels(nil) })
		}, true, []string{"delete configmaps a", "delete configmaps b", releaseParent}},
		{"a filter", withWatch(t, finalized(t), `filter: 'eq .spec.text "hello"'`), func(c *cluster) {
			c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)["text"] = "bye" })
		}, false, []string{"delete configmaps a", "delete configmaps b", releaseParent}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := settled(t, row.manifest)
			c.suspend()
			c.Settle()
			row.leave(c)
			wantRequests(t, "it no longer matches", c.SettleWrites())
			if _, requests := c.Reconcile("apps", "one"); (len(requests) > 0) != row.polls {
				t.Errorf("another reconciliation: requests %q", requests)
			}
			c.resume()
			c.Advance(queue.CollectorTime)
			wantRequests(t, "resumed", c.SettleWrites(), row.released...)
		})
	}
}

// A parent that was deleted without waiting for templater has no suspension anymore.
func TestDeletionOfSuspendedParentWithoutFinalizer(t *testing.T) {
	c := settled(t, apps)
	c.suspend()
	c.Settle()
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "the deletion", c.SettleWrites())
	if c.Find("configmaps", "a") != nil {
		t.Error("the garbage collector keeps a child")
	}
	if n := c.controllers.tracked["apps"].counts.Parents; n.Total != 0 || n.Suspended != 0 {
		t.Errorf("counts %+v", n)
	}
}

// The garbage collector may be done when the parent is resumed, and the operator may have been restarted.
func TestSuspendedParentRemembersOrphaning(t *testing.T) {
	c := settled(t, finalized(t))
	c.suspend()
	c.Settle()
	c.KubectlDelete(one, metav1.DeletePropagationOrphan)
	wantRequests(t, "the deletion", c.SettleWrites(), noteDone)
	c.letsGo()
	c.start()
	wantRequests(t, "a restart", c.SettleWrites())
	c.resume()
	wantRequests(t, "resumed", c.SettleWrites(), releaseParent)
	if c.Objects[one] != nil || c.Find("configmaps", "a") == nil {
		t.Error("the parent is kept, or a child is deleted")
	}
}

func TestSuspendedParentReadsNoLogs(t *testing.T) {
	c := newCluster(t)
	c.Logs.Set("ns/a/main", "x\n", nil)
	c.KubectlApply(reconciletest.PodOf("a", "1", -1))
	c.KubectlApply(reporters)
	c.KubectlApply(app)
	c.SettleLogs()
	c.suspend()
	wantRequests(t, "suspended", c.FetchLogs(), "status apps one")
	if n := reconciletest.Lengths(t, c.shared.logs, "logs", "parents"); n > 0 {
		t.Errorf("%d logs and parents are held", n)
	}
}
