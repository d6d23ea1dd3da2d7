package reconcile_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

var backupJob = request.Location{Resource: reconciletest.Kinds[schema.GroupKind{Group: "batch", Kind: "Job"}].Resource, Namespace: "ns", Name: "backup"}

// jobEnds sets the status of the Job to ended, with a condition of that type.
func (c *cluster) jobEnds(condition string) {
	c.T.Helper()
	c.KubectlEdit(backupJob, func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "conditions": []any{map[string]any{"type": condition, "status": "True", "reason": "BackoffLimitExceeded"}}}
	})
}

const noteDone = "mark apps one"

func TestFinalizeChildrenCompleteBeforeTeardown(t *testing.T) {
	c := settled(t, withBackup(t, "timeout: 0s"))
	wantRequests(t, "while the parent lives", c.Settle())
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "they are made", c.Settle(), "create jobs backup", "status apps one")
	const waiting = "False Finalizing: being deleted: waiting for spec.finalize.children: 0 of 1 children are ready: Job ns/backup: not started yet"
	if got := c.Condition("apps", "one", "Ready"); got != waiting {
		t.Errorf("ready condition %q, want %q", got, waiting)
	}
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "edited"} })
	wantRequests(t, "nobody keeps the others", c.Settle())
	c.jobEnds("Complete")
	wantRequests(t, "then the others go, and the parent", c.Settle(),
		noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
	if len(c.Objects) != 1 {
		t.Errorf("%d objects are left, want the TemplateController", len(c.Objects))
	}
}

// TestStaleRelatedObjectsDoNotReleaseParent creates a backup for each related object, one of which the watch has not delivered.
func TestStaleRelatedObjectsDoNotReleaseParent(t *testing.T) {
	forbidden := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `gadgets.example.org is forbidden: User "x" cannot list resource "gadgets" in API group "example.org"`)
	for why, row := range map[string]struct {
		optional bool
		failure  error
		want     bool // whether the parent is released
	}{
		"the watch fails":                                               {false, errors.New("no answer"), false},
		"the watch of an optional entry fails":                          {true, errors.New("no answer"), false},
		"the permission is withdrawn":                                   {false, forbidden, false},
		"the permission of an optional entry is, which counts as empty": {true, forbidden, true},
	} {
		for _, children := range []bool{false, true} {
			t.Run(fmt.Sprint(why, ", children ", children), func(t *testing.T) {
				entry := fmt.Sprintf("  related: [{name: gadgets, apiVersion: example.org/v1, kind: Gadget, select: '{name: seen}', optional: %v}]\n  watch:", row.optional)
				c := settled(t, with(t, withBackup(t, "timeout: 0s"), "  watch:", entry,
					"      template: |\n        apiVersion: batch/v1", "      template: |\n        {{ range .related.gadgets }}\n        ---\n        apiVersion: batch/v1",
					"spec: {suspend: {{ eq (len .children.maps) 0 }}}\n", "spec: {suspend: false}\n        {{ end }}\n"))
				if !children {
					c.KubectlApply(newApp(withChildren()))
					c.Settle()
				}
				gadget := parse(t, "{apiVersion: example.org/v1, kind: Gadget, metadata: {namespace: ns, name: seen}}")
				c.FailWatches("gadgets", row.failure)
				for want := range c.Caches {
					c.Silent[want] = want.Resource.Resource == "gadgets"
				}
				c.Store(locationOf(gadget), gadget)
				c.KubectlDelete(one, metav1.DeletePropagationBackground)
				c.Settle()
				if c.Released() != row.want {
					t.Fatalf("released: %v, want %v; requests %q", c.Released(), row.want, c.Requests)
				}
				if row.want {
					return
				}
				clear(c.Silent)
				c.Deliver()
				c.FailWatches("gadgets", nil)
				c.Settle()
				if c.Find("jobs", "backup") == nil || c.Released() {
					t.Fatalf("released: %v, requests %q; want a backup", c.Released(), c.Requests)
				}
				c.jobEnds("Complete")
				if c.Settle(); !c.Released() {
					t.Errorf("the parent is not released after the backup: %s", c.Condition("apps", "one", "Ready"))
				}
			})
		}
	}
}

// During a foreground deletion of the parent, the garbage collector deletes its children, even if finalize children are created before.
func TestFinalizeChildrenUnderForegroundDeletion(t *testing.T) {
	c := settled(t, with(t, withBackup(t, "timeout: 0s"), "{{ eq (len .children.maps) 0 }}", "false"))
	c.KubectlDelete(one, metav1.DeletePropagationForeground)
	c.CollectGarbage()
	c.Deliver()
	wantRequests(t, "they are made all the same, and stay", c.Settle(), "create jobs backup", "status apps one", "status apps one")
	c.jobEnds("Complete")
	wantRequests(t, "then the parent goes", c.Settle(), releaseParent)
	if len(c.Objects) != 1 {
		t.Errorf("%d objects are left, want the TemplateController", len(c.Objects))
	}
}

func TestInterruptedTeardownIsResumed(t *testing.T) {
	steps := []string{"create jobs backup", "status apps one", noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent}
	for n, step := range steps {
		t.Run(fmt.Sprint(n, " ", step), func(t *testing.T) {
			c := settled(t, withBackup(t, "timeout: 0s"))
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			begin, killed := len(c.Requests), false
			c.During = func() {
				if len(c.Requests)-begin == n+1 && !killed {
					killed = true
					panic("killed")
				}
			}
			work := func() {
				defer func() { _ = recover() }()
				c.Settle()
				if job := c.Find("jobs", "backup"); job != nil && job.Object["status"] == nil {
					c.jobEnds("Complete")
				}
				c.Settle()
			}
			work()
			if !killed {
				t.Fatal("it was not killed")
			}
			c.start()
			work()
			got := c.Requests[begin:]
			for _, want := range steps {
				if !slices.Contains(got, want) {
					t.Errorf("%q is missing among %q", want, got)
				}
			}
			if i, j := slices.Index(got, noteDone), slices.Index(got, "delete-foreground configmaps a"); i > j {
				t.Errorf("the order is lost: %q", got)
			}
			if len(c.Objects) != 1 {
				t.Errorf("%d objects are left, want the TemplateController", len(c.Objects))
			}
		})
	}
}

func TestFailedFinalizeChildBlocksDeletion(t *testing.T) {
	const failing = "being deleted: waiting for spec.finalize.children: 1 of 1 children have failed: Job ns/backup: failed (BackoffLimitExceeded); " +
		`fix that, or annotate the object with templater.dev/skip-finalize: "true" to skip the cleanup and remove the finalizer immediately`
	c := settled(t, withBackup(t))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Deliver()
	c.Run()
	c.jobEnds("Failed")
	wantRequests(t, "it has failed", c.Run(), "status apps one")
	if got := c.Condition("apps", "one", "Ready"); got != "False Finalizing: "+failing {
		t.Errorf("ready condition %q", got)
	}
	if diff := cmp.Diff([]string{"one Warning Finalizing: " + failing}, c.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	c.Clock.SetTime(c.Clock.Now().Add(1000 * time.Hour))
	wantRequests(t, "a long time later", c.Run())
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{v1.AnnotationSkipFinalize: "true"})
	})
	wantRequests(t, "the way out", c.Run(), releaseParent)
}

func TestFinalizeChildrenInTerminatingNamespace(t *testing.T) {
	ending := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "unable to create new content in namespace ns because it is being terminated",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
	without := func(job string) string {
		return "one Warning NamespaceTerminating: cannot create Job " + job + ": its namespace is being deleted; the finalizer is removed anyway"
	}
	far := `    - name: far
      scope: Cluster
      template: |
        apiVersion: batch/v1
        kind: Job
        metadata: {name: far, namespace: backups}
  watch:`
	farJob := request.Location{Resource: backupJob.Resource, Namespace: "backups", Name: "far"}
	t.Run("another namespace", func(t *testing.T) {
		c := settled(t, with(t, withBackup(t), "  watch:", far))
		c.Refuse["create jobs far"] = ending
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		c.Run()
		if c.Objects[configMap("a")] == nil {
			t.Error("the other finalize child is not waited for")
		}
		c.jobEnds("Complete")
		c.Settle()
		if diff := cmp.Diff([]string{without("backups/far")}, c.Events); diff != "" || c.Objects[one] != nil {
			t.Errorf("the parent is %v; Events (-want +got):\n%s", c.Objects[one], diff)
		}
	})
	t.Run("what can be made is waited for", func(t *testing.T) {
		c := settled(t, with(t, withBackup(t, "timeout: 0s"), "  watch:", far, "- name: backup", "- name: after\n      dependsOn: [backup]\n      scope: Cluster\n      template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: after, namespace: backups}}'\n    - name: backup"))
		c.Refuse["create jobs backup"] = ending
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "it waits", c.Run(), "create jobs backup", "create jobs far", "status apps one", "create jobs backup")
		const want = "False Finalizing: being deleted: waiting for spec.finalize.children: 0 of 1 children are ready: Job backups/far: not started yet"
		if got := c.Condition("apps", "one", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		c.KubectlEdit(farJob, func(o *unstructured.Unstructured) {
			o.Object["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
		})
		got := c.Settle()
		if c.Objects[one] != nil || c.Objects[configMap("a")] != nil || !slices.Contains(got, noteDone) {
			t.Errorf("something is left after %q", got)
		}
		if diff := cmp.Diff([]string{without("ns/backup")}, c.Events); diff != "" {
			t.Errorf("Events (-want +got):\n%s", diff)
		}
	})
	t.Run("its own namespace", func(t *testing.T) {
		c := settled(t, withBackup(t))
		c.Refuse["create jobs backup"] = ending
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "it goes without", c.Settle(), "create jobs backup", noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
		if diff := cmp.Diff([]string{without("ns/backup")}, c.Events); diff != "" {
			t.Errorf("Events (-want +got):\n%s", diff)
		}
	})
}

func TestFinalizeChildrenWaitForValidTemplates(t *testing.T) {
	c := settled(t, withBackup(t, "timeout: 1h"))
	c.KubectlApply(with(t, withBackup(t, "timeout: 1h"), "{{ end }}", ""))
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.Run()
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "it waits", c.Run(), "status apps one")
	const want = "False Finalizing: being deleted: waiting for spec.finalize.children until TemplateController apps is accepted: see its Accepted condition"
	if got := c.Condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.KubectlApply(withBackup(t, "timeout: 1h"))
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	wantRequests(t, "it is mended", c.Run(), "create jobs backup", reconciletest.ReadParent, noteSince, "status apps one")
}

func TestFinalizeChildrenRespectDependencies(t *testing.T) {
	c := settled(t, with(t, withBackup(t, "timeout: 0s"), "  watch:", `    - name: last
      dependsOn: [backup]
      deletionPolicy: Orphan
      template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: last}}"
  watch:`))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "the first", c.Settle(), "create jobs backup", "status apps one")
	const want = "False Finalizing: being deleted: waiting for spec.finalize.children: children[last] waits for children[backup]: Job ns/backup: not started yet"
	if got := c.Condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.jobEnds("Complete")
	wantRequests(t, "the second", c.Settle(), "create configmaps last", noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
	if c.Find("configmaps", "last") == nil || c.Find("jobs", "backup") != nil {
		t.Error("what has deletionPolicy Orphan stays, and the rest goes with the parent")
	}
}

// A write of one finalize child unblocks another one, which could not be rendered before.
func TestDependentFinalizeChildrenAreCreatedImmediately(t *testing.T) {
	c := settled(t, with(t, finalized(t, ", timeout: 0s"), "{order: Reverse, timeout: 0s}", `
    order: Reverse
    timeout: 0s
    children:
    - name: first
      template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}"
    - name: second
      template: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "{{ (first .children.first).metadata.name }}-2"}`))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "both are made", c.Settle(), "create configmaps first", "create configmaps first-2", noteDone,
		"delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", releaseParent)
}
