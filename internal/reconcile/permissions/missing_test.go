package permissions

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// knowing returns a subject for an existing user, with f as the cached result for the claim.
func knowing(t *testing.T, user string, need Requirement, f reviewResult) Checker {
	t.Helper()
	r := newServer(t).tracker()
	namespace, name := spec.Account(robot)
	exists := Requirement{Use: Existence, Resource: serviceAccounts, Namespaced: true, Namespace: namespace, Name: name}
	for about, f := range map[Requirement]reviewResult{need: f, exists: {known: true}} {
		r.found[about] = &cachedResult{reviewResult: f, asked: r.clock.Now(), controllers: map[string]struct{}{}}
	}
	return r.For("", user, kind.Kind{})
}

// TestRoleHintLimitsNamespacesOnlyWhereAllowed: the hint suggests spec.watch.namespaces only if the API allows it.
func TestRoleHintLimitsNamespacesOnlyWhereAllowed(t *testing.T) {
	child := kind.Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true}
	for namespaced, want := range map[bool]string{true: ", or limit spec.watch.namespaces", false: ""} {
		c := (*Tracker)(nil).For("", robot, kind.Kind{Namespaced: namespaced})
		if got := c.Claim(Children, child, "").role(); got != "a ClusterRole bound to it by a ClusterRoleBinding"+want {
			t.Errorf("parents in namespaces: %v: %q, want %q in the end", namespaced, got, want)
		}
		if got := c.Anywhere(true); strings.Contains(got.Claim(Children, child, "").role(), "limit") || strings.Contains(got.Claim(Parents, child, "").role(), "limit") != namespaced {
			t.Errorf("parents in namespaces: %v, with children anywhere: %q", namespaced, got.Claim(Children, child, "").role())
		}
	}
}

func TestMissingPermissionsAreNamed(t *testing.T) {
	need := Requirement{As: robot, Use: Parents, Resource: schema.GroupResource{Group: "example.org", Resource: "apps"}, Namespaced: true, Namespace: "ns"}
	own, impersonation, everywhere, cluster := need, need, need, need
	own.As, impersonation.impersonation = "", true
	everywhere.Namespace = ""
	cluster.Namespace, cluster.Namespaced = "", false
	core := need
	core.Resource = schema.GroupResource{Resource: "pods"}
	unlimited := everywhere
	unlimited.Unlimited = true
	const role = " to a Role in namespace ns bound to "
	for why, row := range map[string]struct {
		need, about Requirement
		found       reviewResult
		verb        string // denied verb
		want        string
	}{
		"those that are missing": {
			need, need, reviewResult{known: true, missing: []string{"get", "list"}}, "list",
			"service account team/robot is not allowed to get and list apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [get, list]}" + role + "it by a RoleBinding",
		},
		"that which was denied, and has been granted meanwhile": {
			need, need, reviewResult{known: true}, "list",
			"service account team/robot is not allowed to list apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [list]}" + role + "it by a RoleBinding",
		},
		"all, while nothing is known": {
			need, need, reviewResult{}, "list",
			"service account team/robot is not allowed to list apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [get, list, watch]}" + role + "it by a RoleBinding",
		},
		"all to act as the account, where it is not known which": {
			need, impersonation, reviewResult{constrained: true}, "impersonate-on:serviceaccount:list",
			`templater is not allowed to impersonate service account team/robot to get, list and watch apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: ["impersonate-on:serviceaccount:get", "impersonate-on:serviceaccount:list", "impersonate-on:serviceaccount:watch"]}` + role + "service account templater-system/templater by a RoleBinding",
		},
		"the operator, which acts as nobody, may not": {
			own, own, reviewResult{}, "impersonate",
			`templater is not allowed to impersonate apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [get, list, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`,
		},
		"the operator, by its own name, may not act as the account": {
			need, impersonation, reviewResult{known: true}, "impersonate",
			`templater is not allowed to impersonate service account team/robot: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [robot], verbs: [impersonate]} to a Role in namespace team bound to service account templater-system/templater by a RoleBinding`,
		},
		"a kind of the core group": {
			core, core, reviewResult{known: true, missing: []string{"get"}}, "get",
			`service account team/robot is not allowed to get pods in namespace ns: add {apiGroups: [""], resources: [pods], verbs: [get]}` + role + "it by a RoleBinding",
		},
		"in all namespaces": {
			everywhere, everywhere, reviewResult{known: true, missing: []string{"get"}}, "get",
			"service account team/robot is not allowed to get apps.example.org in all namespaces: add {apiGroups: [example.org], resources: [apps], verbs: [get]} to a ClusterRole bound to it by a ClusterRoleBinding, or limit spec.watch.namespaces",
		},
		"in all namespaces, by a parent that is in none": {
			unlimited, unlimited, reviewResult{known: true, missing: []string{"get"}}, "get",
			"service account team/robot is not allowed to get apps.example.org in all namespaces: add {apiGroups: [example.org], resources: [apps], verbs: [get]} to a ClusterRole bound to it by a ClusterRoleBinding",
		},
		"in the cluster": {
			cluster, cluster, reviewResult{known: true, missing: []string{"get"}}, "get",
			"service account team/robot is not allowed to get apps.example.org in the cluster: add {apiGroups: [example.org], resources: [apps], verbs: [get]} to a ClusterRole bound to it by a ClusterRoleBinding",
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := knowing(t, row.need.As, row.about, row.found)
			err := denial(spec.AccountPrefix+"templater-system:templater", row.verb, "apps", `in the namespace "ns"`)
			if got, pending := c.Missing(err, row.need); got != row.want || pending {
				t.Errorf("pending is %v, and the text\n%s\nwant\n%s", pending, got, row.want)
			}
			if got := c.WhyNot(err, row.need); got != row.want {
				t.Errorf("reason\n%s\nwant\n%s", got, row.want)
			}
		})
	}
	if got, want := (&Checker{}).WhyNot(errors.New(secret), need), "the API server did not respond"; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
}

func TestMissingBlockOwnerDeletionPermission(t *testing.T) {
	err := answer(403, "Forbidden", `configmaps "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>`)
	cluster := kind.Kind{Kind: "Cluster", Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "clusters"}}
	for owner, want := range map[kind.Kind]string{
		app:     "service account team/robot is not allowed to update apps/finalizers.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps/finalizers], verbs: [update]} to a Role in namespace ns bound to it by a RoleBinding, which the admission plugin OwnerReferencesPermissionEnforcement requires for blockOwnerDeletion in the owner reference",
		cluster: "service account team/robot is not allowed to update clusters/finalizers.example.org in the cluster: add {apiGroups: [example.org], resources: [clusters/finalizers], verbs: [update]} to a ClusterRole bound to it by a ClusterRoleBinding, which the admission plugin OwnerReferencesPermissionEnforcement requires for blockOwnerDeletion in the owner reference",
	} {
		c := (*Tracker)(nil).For("", robot, owner)
		if got, pending := c.missingToWrite(err, "ns", kind.Kind{}); got != want || pending {
			t.Errorf("%s: pending is %v, and the text\n%s\nwant\n%s", owner.Kind, pending, got, want)
		}
	}
}

func TestResultsAreComparedByContent(t *testing.T) {
	for why, row := range map[string]struct {
		a, b reviewResult
		want bool
	}{
		"the same":                     {reviewResult{known: true, missing: []string{"get"}}, reviewResult{known: true, missing: []string{"get"}}, true},
		"nothing is known yet":         {reviewResult{}, reviewResult{known: true}, false},
		"another right is missing":     {reviewResult{missing: []string{"get"}}, reviewResult{missing: []string{"list"}}, false},
		"impersonation is constrained": {reviewResult{}, reviewResult{constrained: true}, false},
		"it is not there":              {reviewResult{}, reviewResult{absent: true}, false},
	} {
		if got := row.a.same(row.b); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}

func TestReportWaitsForServiceAccountExistence(t *testing.T) {
	need := Requirement{As: robot, Use: Parents, Resource: schema.GroupResource{Group: "example.org", Resource: "apps"}, Namespaced: true, Namespace: "ns"}
	for _, unknown := range []Use{Existence, Parents} {
		c := knowing(t, robot, need, reviewResult{known: true, missing: []string{"get"}})
		for about, a := range c.tracker.found {
			if a.used = c.tracker.clock.Now(); about.Use == unknown {
				delete(c.tracker.found, about)
			}
		}
		if text, pending := c.Missing(denial(robot, "get", "apps", ""), need); !pending {
			t.Errorf("not everything is known, and told is %q", text)
		}
	}
}

func TestCanceledReviewSendsNoRequest(t *testing.T) {
	c := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, about := range []Requirement{{As: robot, Use: Parents}, {As: robot, Use: Parents, impersonation: true}, {Use: Existence, Resource: namespaces, Name: "ns"}} {
		if _, err := c.tracker().ask(ctx, about); err == nil || len(c.asked)+len(c.sought) > 0 {
			t.Errorf("asked for %v %v, %v", c.asked, c.sought, err)
		}
	}
}

func TestResultIsReportedToNewRequestersOnly(t *testing.T) {
	r, about := newServer(t).tracker(), Requirement{As: robot, Use: Parents}
	r.look(about, "apps")
	if got := r.take(about, reviewResult{known: true}); len(got) != 1 {
		t.Errorf("told %v, want apps", got)
	}
	if got := r.take(about, reviewResult{known: true, missing: []string{"get"}}); len(got) > 0 {
		t.Errorf("told %v, who has not asked again", got)
	}
}

func TestMissingServiceAccountIsReported(t *testing.T) {
	need := Requirement{As: robot, Use: Parents, Resource: schema.GroupResource{Group: "example.org", Resource: "apps"}, Namespaced: true, Namespace: "ns"}
	s := knowing(t, robot, need, reviewResult{})
	for about, a := range s.tracker.found {
		a.absent = about.Use == Existence
	}
	want := "service account team/robot does not exist: create it with the permissions that the templates need, correct spec.serviceAccountRef, or, if its namespace was deleted, bind the permissions to its name with a ClusterRoleBinding"
	if got, pending := s.Missing(denial(robot, "list", "apps", ""), need); got != want || pending {
		t.Errorf("pending is %v, and the text %q, want %q", pending, got, want)
	}
	for about, a := range s.tracker.found {
		if about.Use != Existence {
			a.reviewResult = reviewResult{known: true, missing: []string{"patch"}}
		}
	}
	if got := s.Known(need); got != "" {
		t.Errorf("%q is known besides, want nothing: an account that does not exist has no right at all", got)
	}
}

func TestKnownReportsMissingPermissionsOnly(t *testing.T) {
	need := Requirement{As: robot, Use: Namespaces, Resource: namespaces}
	for want, f := range map[string]reviewResult{
		"": {known: true},
		"service account team/robot is not allowed to watch namespaces in the cluster: add {apiGroups: [\"\"], resources: [namespaces], verbs: [watch]} to a ClusterRole bound to it by a ClusterRoleBinding": {known: true, missing: []string{"watch"}},
	} {
		s := knowing(t, robot, need, f)
		if got := s.Known(need); got != want {
			t.Errorf("%q is known, want %q", got, want)
		}
	}
}
