package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// deletedWithChildren deletes a TemplateController with whenDeleted DeleteChildren after an edit.
func deletedWithChildren(t *testing.T, before, after string, restart bool) *cluster {
	t.Helper()
	c := newCluster(t)
	c.KubectlApply(withSpec(t, before, "whenDeleted: DeleteChildren"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	if after != "" {
		c.KubectlApply(withSpec(t, after, "whenDeleted: DeleteChildren"))
		c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	}
	if restart {
		c.start()
	}
	c.Run()
	c.startDeletion()
	return c
}

func TestDeletionOfRejectedControllerDeletesChildren(t *testing.T) {
	deletions := []string{"delete configmaps a", "delete configmaps b", "finalizers[] templatecontrollers apps"}
	for why, row := range map[string]struct {
		broken string
		want   []string
	}{
		"a template":   {with(t, apps, "{{ end }}", ""), append(slices.Clone(deletions), "status apps one")},
		"the selector": {withWatch(t, apps, "labelSelector: {matchLabels: {a: '?'}}"), deletions},
		"the period":   {withSpec(t, apps, "resyncPeriod: never"), append(slices.Clone(deletions), "status apps one")},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(why, ", restart ", restart), func(t *testing.T) {
				c := deletedWithChildren(t, apps, row.broken, restart)
				requests := c.Settle()
				slices.Sort(requests)
				wantRequests(t, "it goes", requests, row.want...)
			})
		}
	}
}

func TestRejectedSpecKeepsChildNamespaces(t *testing.T) {
	c := leavesBehind(t, false)
	c.KubectlApply(with(t, with(t, asRobot(t), "[ns]", "[other]"), "{{ end }}", ""))
	c.Run()
	c.controllers.queue.Add("apps")
	c.Run()
	namespaces, _, _ := unstructured.NestedStringSlice(c.Find("templatecontrollers", "apps").Object, "status", "childNamespaces")
	if diff := cmp.Diff([]string{"ns", "other"}, namespaces); diff != "" {
		t.Errorf("status.childNamespaces (-want +got):\n%s", diff)
	}
}

func TestOrphanChildrenOutliveTemplateController(t *testing.T) {
	for why, row := range map[string]struct {
		before, after string
		want          []string
	}{
		"deletionPolicy Orphan":                             {withTemplate(t, apps, "deletionPolicy: Orphan"), "", []string{"finalizers[] templatecontrollers apps", "status apps one"}},
		"prunePolicy Orphan":                                {withTemplate(t, apps, "prunePolicy: Orphan"), "", []string{"finalizers[] templatecontrollers apps", "status apps one"}},
		"Orphan, and the spec is broken":                    {withTemplate(t, apps, "deletionPolicy: Orphan"), with(t, withTemplate(t, apps, "deletionPolicy: Orphan"), "{{ end }}", ""), []string{"finalizers[] templatecontrollers apps", "status apps one"}},
		"Orphan of an entry that has another name now":      {withTemplate(t, apps, "deletionPolicy: Orphan"), with(t, apps, "- name: maps", "- name: files", "{{ end }}", ""), []string{"finalizers[] templatecontrollers apps", "status apps one"}},
		"prunePolicy of an entry that has another name now": {withTemplate(t, apps, "prunePolicy: Orphan"), with(t, apps, "- name: maps", "- name: files", "{{ end }}", ""), []string{"finalizers[] templatecontrollers apps", "status apps one"}},
		"an accepted edit says so no longer":                {withTemplate(t, apps, "deletionPolicy: Orphan"), apps, []string{"delete configmaps a", "delete configmaps b", "finalizers[] templatecontrollers apps", "status apps one"}},
		"a broken edit says so no longer":                   {withTemplate(t, apps, "deletionPolicy: Orphan"), with(t, apps, "{{ end }}", ""), []string{"finalizers[] templatecontrollers apps", "status apps one"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := deletedWithChildren(t, row.before, row.after, false)
			requests := c.Settle()
			slices.Sort(requests)
			wantRequests(t, "it goes", requests, row.want...)
		})
	}
}

func TestTeardownKeepsChildControlledByAnother(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(app)
	c.Run()
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
		yes := true
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "taker", UID: "uid-taker", Controller: &yes}})
	})
	c.startDeletion()
	wantRequests(t, "it goes", c.Settle(), "status apps one", "delete configmaps b", "finalizers[] templatecontrollers apps")
}

func TestOrphanChildrenOverridesDeletionPolicyDelete(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, "deletionPolicy: Delete"))
	c.KubectlApply(app)
	c.Run()
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) }) // added because of an earlier policy
	c.startDeletion()
	wantRequests(t, "it goes", c.Settle(), "status apps one", "list apps everywhere", "finalizers[] templatecontrollers apps")
}

func TestDeletingConditionNamesBlockers(t *testing.T) {
	slow := func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) }
	ready := func(c *cluster) string { return c.Condition("templatecontrollers", "apps", "Ready") }
	t.Run("for children to go", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
		c.KubectlApply(newApp(withChildren("a", "b", "c", "d", "e")))
		c.Run()
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.KubectlEdit(configMap(name), slow)
		}
		c.startDeletion()
		c.Run()
		if got, want := ready(c), "False Deleting: being deleted: waiting for its children to be deleted: more than 3 are left"; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		c.RemoveNow(configMap("a"))
		c.RemoveNow(configMap("d"))
		c.Run()
		if got, want := ready(c), "False Deleting: being deleted: waiting for its children to be deleted: ConfigMap ns/b; ConfigMap ns/c; ConfigMap ns/e; if one is stuck, check its metadata.finalizers"; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
	})
	t.Run("for a right to read, though its spec is broken", func(t *testing.T) {
		c := newCluster(t)
		broken := with(t, withSpec(t, asRobot(t), "whenDeleted: DeleteChildren"), "{{ end }}", "")
		c.KubectlApply(broken)
		c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
			o.SetFinalizers([]string{v1.FinalizerChildren})
			o.Object["status"] = map[string]any{"childKinds": []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"}}, "childNamespaces": []any{"ns"}}
		})
		want := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child, As: robot, Namespace: "ns"}
		c.Caches[want] = reconciletest.FailedCache(t, want, denial(robot, "list", "configmaps", `in the namespace "ns"`))
		c.Silent[want] = true
		c.Lacks["team:robot list configmaps ns"] = true
		c.startDeletion()
		wantRequests(t, "it may not read its children", c.Run())
		const text = "False Forbidden: being deleted: waiting to list its children: service account team/robot is not allowed to list configmaps in namespace ns: " +
			"add {apiGroups: [\"\"], resources: [configmaps], verbs: [list]} to a Role in namespace ns bound to it by a RoleBinding; children are kept until this is resolved"
		if got := ready(c); got != text {
			t.Errorf("ready condition %q, want %q", got, text)
		}
	})
}

func TestInvalidFinalizeChildrenAreRejected(t *testing.T) {
	for want, spec := range map[string]string{
		"spec.finalize.children[maps]: a child template in spec.children has the same name: rename one of the two":                        with(t, reconciletest.WithBackup(t), "- name: backup", "- name: maps"),
		"spec.finalize.children[backup].dependsOn names no child template in spec.finalize.children: unknown name maps; none are defined": with(t, reconciletest.WithBackup(t), "- name: backup", "- name: backup\n      dependsOn: [maps]"),
		"spec.children[maps]: the template reads .children.backup, whose objects are only created when the parent is deleted: read it in the status template or in spec.finalize.children": with(t, reconciletest.WithBackup(t),
			"{{ range .spec.names }}", "{{ if .children.backup }}{{ end }}\n      {{ range .spec.names }}"),
	} {
		t.Run(want, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(spec)
			c.Run()
			if got := c.Condition("templatecontrollers", "apps", "Accepted"); got != "False InvalidSpec: "+want {
				t.Errorf("condition %q, want %q", got, want)
			}
		})
	}
}

// A new leader deletes nothing based on a spec that may be outdated.
func TestTeardownRequiresLatestSpec(t *testing.T) {
	c := settled(t, finalized(t, ", timeout: 0s"))
	c.standby()
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Refuse["get templatecontrollers apps"] = reconciletest.ErrBroken
	c.controllers.Lead()
	if got := c.Run(); slices.Contains(got, "delete-foreground configmaps a") {
		t.Errorf("requests %q", got)
	}
	if got := c.Condition("apps", "one", "Ready"); !strings.Contains(got, "waiting to read the latest version of TemplateController apps") {
		t.Errorf("ready condition %q", got)
	}
	delete(c.Refuse, "get templatecontrollers apps")
	c.Settle()
	if c.Objects[one] != nil {
		t.Errorf("it is there still: %s", c.Condition("apps", "one", "Ready"))
	}
}
