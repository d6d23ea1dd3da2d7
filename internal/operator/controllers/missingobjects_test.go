package controllers

import (
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestMissingServiceAccountIsReportedAsMissing(t *testing.T) {
	const rights = `service account team/robot is not allowed to list apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [list]} to a Role in namespace ns bound to it by a RoleBinding`
	const absent = "service account team/robot does not exist: create it with the permissions that the templates need, correct spec.serviceAccountRef, or, if its namespace was deleted, bind the permissions to its name with a ClusterRoleBinding"
	const acting = `templater is not allowed to impersonate service account team/robot: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [robot], verbs: [impersonate]} to a Role in namespace team bound to templater by a RoleBinding`
	list, act := denial(robot, "list", "apps", `in the namespace "ns"`), denial("templater", "impersonate", "serviceaccounts", `in the namespace "team"`)
	for why, row := range map[string]struct {
		denied              error
		lacks, refuse, want string
	}{
		"absent":                               {list, "serviceaccounts team robot", "", absent},
		"present":                              {list, "", "", rights},
		"read is denied":                       {list, "", "ask serviceaccounts team robot", rights},
		"absent, and impersonation is denied":  {act, "serviceaccounts team robot", "", absent},
		"present, and impersonation is denied": {act, "", "", acting},
		"impersonation and read are denied":    {act, "", "ask serviceaccounts team robot", acting},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			want := watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Role: watch.Parent, As: robot, Namespace: "ns"}
			c.Caches[want] = reconciletest.FailedCache(t, want, row.denied)
			c.Silent[want] = true
			c.Lacks["team:robot list apps ns"], c.Lacks[row.lacks] = true, true
			c.Lacks["impersonate:serviceaccount serviceaccounts team"] = errors.Is(row.denied, act)
			c.Refuse[row.refuse] = errors.New("no answer")
			c.KubectlApply(asRobot(t))
			c.Run()
			if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "False Forbidden: "+row.want+"; children are kept until this is resolved"; got != want {
				t.Errorf("condition\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestServiceAccountIsReadOnlyAfterForbidden(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(asRobot(t))
	c.KubectlApply(app)
	c.Run()
	if len(c.Sought) > 0 {
		t.Errorf("asked for %v", c.Sought)
	}
}

func TestMissingNamespaceIsReported(t *testing.T) {
	c := newCluster(t)
	c.Lacks["namespaces typo"] = true
	c.KubectlApply(withWatch(t, apps, "namespaces: [ns, empty, typo]"))
	c.KubectlApply(app)
	c.Run()
	want := "True Watching: all kinds are watched; namespaces in spec.watch.namespaces that do not exist: typo"
	if got := c.Condition("templatecontrollers", "apps", "Watching"); got != want {
		t.Errorf("condition\n%s\nwant\n%s", got, want)
	}
	if slices.Contains(c.Sought, "namespaces ns") {
		t.Error("asked for a namespace that holds a parent")
	}
	c.Clock.SetTime(c.Clock.Now().Add(recountTime))
	c.Run()
	if got := c.ControllerQueue.Wait("apps"); got != problem.SlowRetry {
		t.Errorf("it is looked at again after %v, want %v", got, problem.SlowRetry)
	}
	delete(c.Lacks, "namespaces typo")
	c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
	c.Run()
	if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "True Watching: all kinds are watched"; got != want {
		t.Errorf("condition once it is there\n%s\nwant\n%s", got, want)
	}
	c.Clock.SetTime(c.Clock.Now().Add(time.Hour)) // for the retry that was scheduled before
	c.Run()
	before := len(c.Sought)
	c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
	c.Run()
	if len(c.Sought) != before {
		t.Errorf("asked for %v though nothing has changed", c.Sought[before:])
	}
}

func TestNamespaceIsReadOnlyAfterParentsAreListed(t *testing.T) {
	c := newCluster(t)
	for _, row := range []struct {
		namespace   string
		read, asked bool
	}{{"", true, false}, {"typo", false, false}, {"typo", true, true}} {
		want := watch.Want{Role: watch.Parent, Namespace: row.namespace, Resource: reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}].Resource}
		c.Silent[want] = !row.read
		caches, err := c.Set("apps", []watch.Want{want})
		if err != nil {
			t.Fatal(err)
		}
		(&controller.Controller{Access: controller.Access{Rights: c.controllers.rights.For("", "", kind.Kind{})}, Caches: controller.Caches{Parents: map[string]*watch.Cache{row.namespace: caches[want]}}}).AbsentNamespaces()
		if got := c.controllers.rights.Len() > 0; got != row.asked {
			t.Errorf("namespace %q, whose parents are read: %v; asked for: %v, want %v", row.namespace, row.read, got, row.asked)
		}
	}
}
