package reconcile_test

import (
	"errors"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestAllRequestsUseServiceAccount(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.AsRobot(t))
	c.KubectlApply(app)
	wantRequests(t, "first reconciliation", c.Run(), "team:robot: create configmaps a", "team:robot: create configmaps b", "team:robot: status apps one")
	for _, want := range c.Owned["apps"] {
		if want.As != reconciletest.Robot || want.Namespace != "ns" {
			t.Errorf("%s is watched, want it as the account and in its namespace", want)
		}
	}
	if got := len(c.Owned["apps"]); got != 2 {
		t.Errorf("%d watches, want those of parents and children", got)
	}
	c.Deliver()
	wantRequests(t, "after the watch brought the writes", c.Run())
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "a child that is wanted no longer", c.Run(), "team:robot: delete configmaps b", "team:robot: status apps one")
}

func TestNamespacesAreReadAsServiceAccount(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "kind: App}", "kind: App, namespaceSelector: {matchLabels: {team: red}}}\n  serviceAccountRef: {namespace: team, name: robot}"))
	c.KubectlApply("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}")
	c.KubectlApply(app)
	if got := c.Run(); len(got) != 3 {
		t.Errorf("requests %v, want those of a first reconciliation", got)
	}
	for _, want := range c.Owned["apps"] {
		if want.As != reconciletest.Robot || want.Namespace != "" {
			t.Errorf("%s is watched, want it as the account and in all namespaces", want)
		}
	}
	c.Deliver()
	c.Run()
	c.KubectlApply("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: blue}}}")
	wantRequests(t, "the namespace is not selected", c.Run(), "team:robot: get apps one", "team:robot: list namespaces ns", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
}

func TestParentConditionNamesMissingPermissions(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.AsRobot(t))
	for _, name := range []string{"a", "b"} {
		c.Refuse["team:robot: create configmaps "+name] = reconciletest.Denial(reconciletest.Robot, "patch", "configmaps", `in the namespace "ns"`)
	}
	c.Lacks["team:robot patch configmaps ns"], c.Lacks["team:robot create configmaps ns"] = true, true
	c.KubectlApply(app)
	c.Run()
	if len(c.Asked) != 6 {
		t.Errorf("the server was asked %d times for the rights of two writes, want once for each verb: %v", len(c.Asked), c.Asked)
	}
	c.Deliver()
	c.Reconcile("apps", "one") // like its retry
	const want = `False ChildForbidden: cannot create ConfigMap ns/a and ns/b: service account team/robot is not allowed to create and patch configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [create, patch]} to a Role in namespace ns bound to it by a RoleBinding`
	if got := c.Condition("apps", "one", "Ready"); got != want {
		t.Errorf("condition\n%s\nwant\n%s", got, want)
	}
	clear(c.Refuse)
	c.Deliver()
	result, got := c.Reconcile("apps", "one")
	wantRequests(t, "granted", got, "team:robot: create configmaps a", "team:robot: create configmaps b", "team:robot: status apps one")
	if result.Retry != problem.RetryOnChange {
		t.Errorf("retry %v", result.Retry)
	}
}

func TestUnreadableChildrenAreNotDeleted(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.AsRobot(t))
	c.KubectlApply(app)
	c.Run()
	c.start()
	want := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child, As: reconciletest.Robot, Namespace: "ns"}
	c.Caches[want] = reconciletest.FailedCache(t, want, reconciletest.Denial(reconciletest.Robot, "list", "configmaps", `in the namespace "ns"`))
	c.Silent[want] = true
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "children that may not be read", c.Run(), "team:robot: status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "False Forbidden: service account team/robot cannot read configmaps in namespace ns: see the Watching condition of TemplateController apps; children are kept until this is resolved"; got != want {
		t.Errorf("condition\n%s\nwant\n%s", got, want)
	}
}

func TestMissingPermissionIsReportedOnceKnown(t *testing.T) {
	for why, row := range map[string]struct {
		refuse string
		want   string
	}{
		"the server tells":         {"", `is not allowed to create and patch configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [create, patch]} to`},
		"the server does not tell": {"ask team:robot create configmaps ns", `is not allowed to patch configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, list, patch, watch]} to`},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(reconciletest.AsRobot(t))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.Run()
			c.KubectlApply(newApp(withChildren("a", "b", "c")))
			c.Refuse["team:robot: create configmaps c"] = reconciletest.Denial(reconciletest.Robot, "patch", "configmaps", `in the namespace "ns"`)
			c.Refuse[row.refuse] = errors.New("no answer")
			c.Lacks["team:robot patch configmaps ns"], c.Lacks["team:robot create configmaps ns"] = true, true
			result, got := c.Reconcile("apps", "one")
			wantRequests(t, "while the server is asked", got, "team:robot: create configmaps c")
			if result.Retry != problem.RetrySoon || len(c.Events) > 0 {
				t.Errorf("retry %v and Events %v, want a retry soon and no Event yet", result.Retry, c.Events)
			}
			for c.Rights.Len() > 0 {
				c.Rights.Next(t.Context())
			}
			c.Reconcile("apps", "one")
			c.Deliver()
			c.Reconcile("apps", "one")
			if len(c.Events) != 1 || !strings.Contains(c.Events[0], row.want) || !strings.Contains(c.Condition("apps", "one", "Ready"), row.want) {
				t.Errorf("Events %v and condition %s, want one with %s", c.Events, c.Condition("apps", "one", "Ready"), row.want)
			}
		})
	}
}

// TestRelatedObjectsAreReadAsServiceAccount has two TemplateControllers with different service accounts that read the same objects. One of them
// has no permission.
func TestRelatedObjectsAreReadAsServiceAccount(t *testing.T) {
	c := newCluster(t)
	own, others := relatedJobs, relatedJobs
	own.As, others.As = reconciletest.Robot, "system:serviceaccount:other:robot"
	c.Silent[others] = true
	c.KubectlApply(withSpec(t, readers, "serviceAccountRef: {namespace: team, name: robot}"))
	c.KubectlApply(with(t, readers, "name: apps", "name: curious", "spec:\n", "spec:\n  serviceAccountRef: {namespace: other, name: robot}\n", "{name: {{ .metadata.name }}}", "{name: curious}"))
	c.KubectlApply(reader("ns", "one", "{job: a}"))
	c.KubectlApply(job("ns", "a", "{}", "{note: x}"))
	c.Run()
	c.Caches[others].Fail(reconciletest.ErrForbidden)
	c.Settle()
	if got := c.JobsOf("one"); got != "a: x" {
		t.Errorf("the child of who may read says %q", got)
	}
	if c.Find("configmaps", "curious") != nil {
		t.Error("who may not read has made a child")
	}
	for _, want := range []watch.Want{own, others} {
		if c.Caches[want] == nil {
			t.Errorf("nothing is read as %s", want.As)
		}
	}
	if c.Caches[relatedJobs] != nil {
		t.Error("related objects are read as the operator")
	}
}
