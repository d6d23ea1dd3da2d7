package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// itself is templater's own service account.
const itself = spec.AccountPrefix + "templater-system:templater"

func TestServiceAccountChangeKeepsChildren(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(asRobot(t))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	c.KubectlApply(with(t, asRobot(t), "name: robot", "name: other"))
	wantRequests(t, "another account", c.Run())
	if want := c.Owned["apps"][0]; want.As != spec.AccountPrefix+"team:other" {
		t.Errorf("read as %q", want.As)
	}
	c.KubectlApply(withWatch(t, apps, "namespaces: [ns]"))
	wantRequests(t, "no account", c.Run())
	for _, want := range c.Owned["apps"] {
		if want.As != "" || want.Role == watch.Child && want.Namespace != "" {
			t.Errorf("%s is watched, want the operator's own watches", want)
		}
	}
	if got := c.Find("templatecontrollers", "apps").Object["status"].(map[string]any)["childNamespaces"]; got != nil {
		t.Errorf("status.childNamespaces is %v, want none", got)
	}
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "a change, without an account", c.Run(), "update configmaps a", "update configmaps b", "status apps one")
	c.Deliver()
	c.Run()
	c.KubectlApply(asRobot(t))
	wantRequests(t, "an account again", c.Run())
}

// leavesBehind changes the watched namespace of a TemplateController with a service account to "other".
func leavesBehind(t *testing.T, restart bool) *cluster {
	t.Helper()
	c := newCluster(t)
	c.KubectlApply(asRobot(t))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	if restart {
		c.start()
	}
	c.KubectlApply(with(t, asRobot(t), "[ns]", "[other]"))
	return c
}

func TestDeselectedNamespaceIsPruned(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			c := leavesBehind(t, restart)
			wantRequests(t, "the namespace is watched no longer", c.Run(), "team:robot: get apps one", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
			c.RemoveNow(configMap("a"))
			c.RemoveNow(configMap("b"))
			c.controllers.queue.Add("apps")
			c.Run()
			for _, want := range c.Owned["apps"] {
				if want.Namespace != "other" {
					t.Errorf("%s is still watched", want)
				}
			}
			namespaces, _, _ := unstructured.NestedStringSlice(c.Find("templatecontrollers", "apps").Object, "status", "childNamespaces")
			if diff := cmp.Diff([]string{"other"}, namespaces); diff != "" {
				t.Errorf("status.childNamespaces (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeselectedNamespaceIsPrunedAfterStatusLoss: if the status has child kinds but no namespaces, children are read in
// all namespaces.
func TestDeselectedNamespaceIsPrunedAfterStatusLoss(t *testing.T) {
	c := leavesBehind(t, true)
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
		unstructured.RemoveNestedField(o.Object, "status", "childNamespaces")
	})
	wantRequests(t, "the namespace is watched no longer", c.Run(), "team:robot: get apps one", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
}

func TestDeselectedNamespaceIsKeptWhileDiscoveryFails(t *testing.T) {
	c := leavesBehind(t, false)
	c.Refuse["kind ConfigMap"] = errors.New("no answer")
	c.Run()
	namespaces, _, _ := unstructured.NestedStringSlice(c.Find("templatecontrollers", "apps").Object, "status", "childNamespaces")
	if diff := cmp.Diff([]string{"ns", "other"}, namespaces); diff != "" {
		t.Errorf("status.childNamespaces (-want +got):\n%s", diff)
	}
}

func TestAddedServiceAccountPrunesOtherNamespaces(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	c.KubectlApply(with(t, asRobot(t), "[ns]", "[other]"))
	wantRequests(t, "narrowed", c.Run(), "team:robot: get apps one", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
}

func TestForbiddenDeselectedNamespaceIsSuperseded(t *testing.T) {
	c := leavesBehind(t, false)
	want := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child, As: robot, Namespace: "ns"}
	c.Caches[want] = reconciletest.FailedCache(t, want, denial(robot, "list", "configmaps", `in the namespace "ns"`))
	c.Silent[want] = true
	wantRequests(t, "the namespace is watched no longer", c.Run())
	if got := c.Owners(want); len(got) > 0 {
		t.Errorf("it is still watched by %v", got)
	}
	if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "True Watching: all kinds are watched"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestWatchingConditionNamesMissingPermissions(t *testing.T) {
	appsWant := watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Role: watch.Parent}
	for why, row := range map[string]struct {
		manifest string
		as, ns   string
		err      error
		lacks    []string
		refuse   string
		want     string
	}{
		"an account in a namespace": {
			asRobot(t), robot, "ns", denial(robot, "list", "apps", `in the namespace "ns"`),
			[]string{"team:robot list apps ns", "team:robot watch apps ns", "team:robot patch apps/status ns"}, "",
			`service account team/robot is not allowed to list and watch apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [list, watch]} to a Role in namespace ns bound to it by a RoleBinding; ` +
				`service account team/robot is not allowed to patch apps/status.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps/status], verbs: [patch]} to a Role in namespace ns bound to it by a RoleBinding`,
		},
		"an account in all namespaces": {
			with(t, asRobot(t), ", namespaces: [ns]", ""), robot, "", denial(robot, "watch", "apps", "at the cluster scope"),
			[]string{"team:robot watch apps"}, "",
			`service account team/robot is not allowed to watch apps.example.org in all namespaces: add {apiGroups: [example.org], resources: [apps], verbs: [watch]} to a ClusterRole bound to it by a ClusterRoleBinding, or limit spec.watch.namespaces`,
		},
		"the operator itself": {
			apps, "", "", denial("templater", "list", "apps", "at the cluster scope"),
			[]string{"get apps", "list apps", "watch apps"}, "",
			`templater is not allowed to get, list and watch apps.example.org in all namespaces: add {apiGroups: [example.org], resources: [apps], verbs: [get, list, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`,
		},
		"the server does not tell": {
			apps, "", "", denial("templater", "list", "apps", "at the cluster scope"), nil, "ask get apps",
			`templater is not allowed to list apps.example.org in all namespaces: add {apiGroups: [example.org], resources: [apps], verbs: [get, list, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`,
		},
		"the operator may not act as the account": {
			asRobot(t), robot, "ns", denial(itself, "impersonate-on:serviceaccount:list", "apps", `in the namespace "ns"`),
			[]string{"impersonate:serviceaccount serviceaccounts team"}, "",
			`templater is not allowed to impersonate service account team/robot: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [robot], verbs: [impersonate]} to a Role in namespace team bound to service account templater-system/templater by a RoleBinding`,
		},
		"the same, on a server without constrained impersonation": {
			asRobot(t), robot, "ns", denial("templater", "impersonate", "serviceaccounts", `in the namespace "team"`),
			[]string{"impersonate:serviceaccount serviceaccounts team"}, "",
			`templater is not allowed to impersonate service account team/robot: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [robot], verbs: [impersonate]} to a Role in namespace team bound to templater by a RoleBinding`,
		},
		"the operator may act as the account, but not to watch": {
			asRobot(t), robot, "ns", denial(itself, "impersonate-on:serviceaccount:watch", "apps", `in the namespace "ns"`),
			[]string{"impersonate-on:serviceaccount:watch apps ns"}, "",
			`templater is not allowed to impersonate service account team/robot to watch apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: ["impersonate-on:serviceaccount:watch"]} to a Role in namespace ns bound to service account templater-system/templater by a RoleBinding`,
		},
		"whether the operator may act is not known": {
			asRobot(t), robot, "ns", denial("templater", "impersonate-on:serviceaccount:watch", "apps", `in the namespace "ns"`),
			nil, "ask impersonate:serviceaccount serviceaccounts team",
			`templater is not allowed to impersonate service account team/robot: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [robot], verbs: [impersonate]} to a Role in namespace team bound to templater by a RoleBinding`,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			want := appsWant
			want.As, want.Namespace = row.as, row.ns
			c.Caches[want] = reconciletest.FailedCache(t, want, row.err)
			c.Silent[want] = true
			for _, right := range row.lacks {
				c.Lacks[right] = true
			}
			c.Refuse[row.refuse] = errors.New("no answer")
			c.KubectlApply(row.manifest)
			wantRequests(t, "nothing can be read", c.Run())
			if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "False Forbidden: "+row.want+"; children are kept until this is resolved"; got != want {
				t.Errorf("condition\n%s\nwant\n%s", got, want)
			}
			if got, want := c.Condition("templatecontrollers", "apps", "StatusWritable"), "Unknown NotAccepted: unknown until the kind is watched"; got != want {
				t.Errorf("condition\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestStatusPermissionIsCheckedOnlyIfStatusIsWritten: the parents cannot be read yet.
func TestStatusPermissionIsCheckedOnlyIfStatusIsWritten(t *testing.T) {
	const known, unknown = "True StatusWritable: no ready condition is configured: spec.status.readyCondition is empty", "Unknown NotAccepted: unknown until the kind is watched"
	for status, row := range map[string]struct {
		asked bool
		want  string
	}{
		`{readyCondition: ""}`:                       {false, known},
		`{readyCondition: "", template: "count: 1"}`: {true, unknown},
		`{readyCondition: Done}`:                     {true, unknown},
		`{template: "count: 1"}`:                     {true, unknown},
	} {
		t.Run(status, func(t *testing.T) {
			c := newCluster(t)
			want := watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Role: watch.Parent, As: robot, Namespace: "ns"}
			c.Caches[want] = reconciletest.FailedCache(t, want, denial(robot, "list", "apps", `in the namespace "ns"`))
			c.Silent[want] = true
			for _, right := range []string{"list apps ns", "patch apps/status ns"} {
				c.Lacks["team:robot "+right] = true
			}
			c.KubectlApply(with(t, asRobot(t), "status:\n    template: |\n      count: {{ len .children.maps }}\n", "status: "+status+"\n"))
			c.Run()
			if got := c.Condition("templatecontrollers", "apps", "Watching"); strings.Contains(got, "apps/status") != row.asked || !strings.Contains(got, "is not allowed to list apps") {
				t.Errorf("the right is asked for: want %v, in %s", row.asked, got)
			}
			if got := c.Condition("templatecontrollers", "apps", "StatusWritable"); got != row.want {
				t.Errorf("condition\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

func TestForbiddenChildDeletionIsReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, asRobot(t), "whenDeleted: DeleteChildren"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	for _, name := range []string{"a", "b"} {
		c.Refuse["team:robot: delete configmaps "+name] = denial(robot, "delete", "configmaps", `in the namespace "ns"`)
	}
	c.startDeletion()
	err := c.controllers.Sync(t.Context(), "apps")
	if err == nil {
		t.Fatal("no error, want one that deserves a retry")
	}
	const want = `False Forbidden: being deleted: cannot delete ConfigMap ns/`
	if got := c.Condition("templatecontrollers", "apps", "Ready"); !strings.HasPrefix(got, want) || !strings.Contains(got, `is not allowed to delete configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [`) {
		t.Errorf("condition\n%s\nwant\n%s…", got, want)
	}
}

func TestServiceAccountRequired(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.strict = true
	c.start()
	wantRequests(t, "no account", c.Run())
	if got := c.Owned["apps"]; len(got) > 0 {
		t.Errorf("the operator watches %v by itself", got)
	}
	if got, want := c.Condition("templatecontrollers", "apps", "Accepted"), "False ServiceAccountRequired: spec.serviceAccountRef is required by --require-service-account: name a ServiceAccount with permissions for the parents and their children"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	c.KubectlApply(asRobot(t))
	wantRequests(t, "an account", c.Run())
	if got, want := c.Condition("templatecontrollers", "apps", "Ready"), "True Ready: accepted and watching"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestServiceAccountsUseSeparateWatches(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(asRobot(t))
	c.KubectlApply(with(t, strings.ReplaceAll(apps, "name: apps", "name: others"), "name: {{ . }}", "name: {{ . }}-other"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	own := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}
	theirs := own
	theirs.As, theirs.Namespace = robot, "ns"
	if diff := cmp.Diff([]string{"others"}, c.Owners(own)); diff != "" {
		t.Errorf("owners of the operator's watch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"apps"}, c.Owners(theirs)); diff != "" {
		t.Errorf("owners of the account's watch (-want +got):\n%s", diff)
	}
	gone := packed(t, c.Objects[configMap("a")])
	c.controllers.Changed(own, watch.Event{Old: gone})
	if got := c.ParentQueue.Len(); got != 0 {
		t.Error("the operator's watch tells of a child of the account's controller")
	}
	c.controllers.Changed(theirs, watch.Event{Old: gone})
	if got := c.ParentQueue.Len(); got != 1 {
		t.Error("the account's watch does not tell of its child")
	}
}

func TestForbiddenParentGetIsRetried(t *testing.T) {
	c := leavesBehind(t, false)
	c.Refuse["team:robot: get apps one"] = denial(robot, "get", "apps", `in the namespace "ns"`)
	wantRequests(t, "the parent cannot be asked for", c.Run(), "team:robot: get apps one")
	result, _ := c.Reconcile("apps", "one")
	if result.Retry != problem.RetryBackoff {
		t.Errorf("retry %v, want RetryBackoff", result.Retry)
	}
}

func TestForbiddenStatusWriteIsReported(t *testing.T) {
	c := newCluster(t)
	c.Refuse["team:robot: status apps one"] = denial(robot, "patch", "apps/status", `in the namespace "ns"`)
	c.Lacks["team:robot patch apps/status ns"] = true
	c.KubectlApply(asRobot(t))
	c.KubectlApply(app)
	c.Run()
	look := func() string {
		c.Reconcile("apps", "one")
		c.controllers.queue.Add("apps")
		c.Run()
		return c.Condition("templatecontrollers", "apps", "StatusWritable")
	}
	if got, want := look(), "False Forbidden: cannot write the status: service account team/robot is not allowed to patch apps/status.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps/status], verbs: [patch]} to a Role in namespace ns bound to it by a RoleBinding"; got != want {
		t.Errorf("condition\n%s\nwant\n%s", got, want)
	}
	clear(c.Refuse)
	if got, want := look(), "True StatusWritable: the ready condition can be written to parents"; got != want {
		t.Errorf("condition\n%s\nwant\n%s", got, want)
	}
}

func TestStandbyWatchesNamespacesOfServiceAccount(t *testing.T) {
	c := leavesBehind(t, false)
	c.standby()
	for range 2 {
		c.controllers.queue.Add("apps")
		wantRequests(t, "while another replica leads", c.Run())
		in := map[string]bool{}
		for _, want := range c.Owned["apps"] {
			if in[want.Namespace] = true; want.As != robot {
				t.Errorf("%s is not read as the account", want)
			}
		}
		if diff := cmp.Diff(map[string]bool{"ns": true, "other": true}, in); diff != "" {
			t.Errorf("namespaces that are read (-want +got):\n%s", diff)
		}
	}
	c.controllers.Lead()
	wantRequests(t, "once it leads", c.Run(), "team:robot: get apps one", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
}
