package rbac

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
)

// appsOf is a kind App with that scope.
const appsOf = `{spec: {group: example.org, scope: SCOPE, names: {kind: App, plural: apps}, versions: [{name: v1, served: true, storage: true}]}}`

// otherNamespaces is a kind that is called as one of Kubernetes.
const otherNamespaces = `{spec: {group: example.org, scope: Cluster, names: {kind: Namespace, plural: namespaces}, versions: [{name: v1, served: true, storage: true}]}}`

// entry is one of ConfigMaps, with more fields.
func entry(more string) string {
	return `{watch: {apiVersion: example.org/v1, kind: App}, children: [{name: a, template: "apiVersion: v1\nkind: ConfigMap\n"` + more + `}]}`
}

// TestPermissionConditions has a row for each of the small things: whether there is a permission, as NAMESPACE GROUP/RESOURCE VERB.
func TestPermissionConditions(t *testing.T) {
	const finalizers, deletes = " example.org/apps/finalizers update", " /configmaps delete"
	for why, row := range map[string]struct {
		scope, spec, right string
		want               bool
	}{
		"its children refer to it":                        {"Namespaced", entry(""), finalizers, true},
		"its children are elsewhere":                      {"Namespaced", entry(", scope: Cluster"), finalizers, false},
		"a parent without a namespace may be referred to": {"Cluster", entry(""), finalizers, true},
		"its children stay":                               {"Namespaced", entry(", deletionPolicy: Orphan"), finalizers, false},
		"Orphan policies need no delete":                  {"Namespaced", entry(", deletionPolicy: Orphan, prunePolicy: Orphan"), deletes, false},
		"deletionPolicy Orphan":                           {"Namespaced", entry(", deletionPolicy: Orphan"), deletes, true},
		"prunePolicy Orphan":                              {"Namespaced", entry(", prunePolicy: Orphan"), deletes, true},
		"children that are recreated":                     {"Namespaced", entry(", deletionPolicy: Orphan, prunePolicy: Orphan, updateStrategy: {type: Recreate}"), deletes, true},
		"children that go in order": {
			"Namespaced", strings.TrimSuffix(entry(", deletionPolicy: Orphan, prunePolicy: Orphan"), "}") + ", finalize: {order: Reverse}}", deletes, true,
		},
		"labels of Namespaces choose related objects": {
			"Namespaced", strings.TrimSuffix(entry(""), "}") + ", related: [{name: r, apiVersion: v1, kind: Secret, namespaceSelector: {matchLabels: {a: b}}}]}", " /namespaces watch", true,
		},
		"no namespaceSelector":               {"Namespaced", strings.TrimSuffix(entry(""), "}") + ", related: [{name: r, apiVersion: v1, kind: Secret}]}", " /namespaces watch", false},
		"Events about a Namespace are in it": {"Cluster", `{watch: {apiVersion: v1, kind: Namespace}, children: [{name: a, template: "apiVersion: v1\nkind: ConfigMap\n"}]}`, " events.k8s.io/events create", true},
		"Events about a kind of that name": {
			"Cluster", `{watch: {apiVersion: example.org/v1, kind: Namespace}, children: [{name: a, template: "apiVersion: v1\nkind: ConfigMap\n"}]}`, "default events.k8s.io/events create", true,
		},
		"Events about what has no namespace": {"Cluster", entry(""), "default events.k8s.io/events create", true},
		"Events about a Node":                {"Cluster", `{watch: {apiVersion: v1, kind: Node}, children: [{name: a, template: "apiVersion: v1\nkind: ConfigMap\n"}]}`, "default events.k8s.io/events create", true},
		"finalize children have a parent, too": {
			"Namespaced", `{watch: {apiVersion: example.org/v1, kind: App}, finalize: {children: [{name: a, template: "apiVersion: v1\nkind: ConfigMap\n"}]}}`, " example.org/apps get", true,
		},
		"a kind without namespaces": {
			"Namespaced", strings.Replace(strings.TrimSuffix(entry(""), "}"), "kind: App", "kind: App, namespaces: [a]", 1) + ", related: [{name: r, apiVersion: v1, kind: Node}]}", " /nodes list", true,
		},
		"a right in one namespace": {
			"Namespaced", `{watch: {apiVersion: example.org/v1, kind: App, namespaces: [a]}, children: [{name: a, template: "apiVersion: v1\nkind: Pod\n"}], related: [{name: r, apiVersion: v1, kind: Pod}]}`, "a /pods create", true,
		},
		"a right that is there in all namespaces": {
			"Namespaced", `{watch: {apiVersion: example.org/v1, kind: App, namespaces: [a]}, children: [{name: a, template: "apiVersion: v1\nkind: Pod\n"}], related: [{name: r, apiVersion: v1, kind: Pod}]}`, "a /pods list", false,
		},
		"all permissions in all namespaces": {
			"Namespaced", strings.TrimSuffix(entry(""), "}") + ", related: [{name: r, apiVersion: v1, kind: Pod}, {name: s, apiVersion: v1, kind: Pod, namespaces: [a]}]}", "a /pods list", false,
		},
		"a kind that is not known may have a status": {
			"Namespaced", `{watch: {apiVersion: unknown.org/v1, kind: App}, status: {template: "a: b"}}`, " unknown.org/apps/status patch", true,
		},
	} {
		tc := &v1.TemplateController{}
		decode(t, "metadata: {name: a}\nspec: "+row.spec, tc)
		kinds := kind.Declared{nil, nil}
		decode(t, strings.Replace(appsOf, "SCOPE", row.scope, 1), &kinds[0])
		decode(t, otherNamespaces, &kinds[1])
		permissions, err := Of(tc, kinds, Options{Account: &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}, Operator: operator, Blocking: true})
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		var all []string
		for _, g := range permissions.Grants {
			if len(g.Verbs) == 0 {
				t.Errorf("%s: nothing is granted on %s in %q", why, g.Resource, g.Namespace)
			}
			for _, verb := range g.Verbs {
				all = append(all, fmt.Sprintf("%s %s/%s %s", g.Namespace, g.Group, g.Resource, verb))
			}
		}
		lines := "\n" + strings.Join(all, "\n") + "\n"
		if got := strings.Contains(lines, "\n"+row.right+"\n"); got != row.want {
			t.Errorf("%s: there is %s: %v, want %v: all are%s", why, row.right, got, row.want, lines)
		}
	}
}

// A comment says what the rule is for, and not what another one is for of the same name.
func TestRuleCommentsMatchAPIGroup(t *testing.T) {
	all := []*Permissions{{Controller: "a", Account: &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}, Operator: operator, Grants: []Grant{
		{Namespace: "a", Resource: "events", Verbs: []string{"get"}, For: []string{"one"}},
		{Namespace: "a", Group: "events.k8s.io", Resource: "events", Verbs: []string{"get"}, For: []string{"two"}},
		{Namespace: "a", Resource: "pods", Verbs: []string{"get"}, For: []string{"three"}},
		{Namespace: "b", Resource: "events", Verbs: []string{"get"}, For: []string{"four"}},
	}}}
	text, err := YAML(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`[""] # one` + "\n  resources: [events]", `[events.k8s.io] # two` + "\n  resources: [events]", `[""] # three` + "\n  resources: [pods]", `[""] # four` + "\n  resources: [events]",
	} {
		if strings.Count(text, "- apiGroups: "+want) != 1 {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestRoleNamesFitLengthLimit(t *testing.T) {
	r := &Permissions{Controller: "a", Account: &v1.ServiceAccountRef{Namespace: "team", Name: strings.Repeat("x", 253)}}
	objects := r.Objects()
	role, ok := objects[len(objects)-2].(*rbacv1.Role)
	if !ok || len(role.Name) != 253 || role.Rules[0].ResourceNames[0] != r.Account.Name {
		t.Errorf("got %+v", objects[len(objects)-2])
	}
}

// Without an account, the permissions are templater's own, in all namespaces: those on one resource are one rule.
func TestOperatorPermissionsAreMerged(t *testing.T) {
	r := &Permissions{Controller: "a", Grants: []Grant{
		{Resource: "pods", Verbs: []string{"list", "watch"}, For: []string{"one"}},
		{Resource: "services", Verbs: []string{"get"}},
		{Namespace: "a", Resource: "pods", Verbs: []string{"delete", "list"}},
	}}
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
	}
	if diff := cmp.Diff([]rbacv1.PolicyRule{rule("pods", "delete", "list", "watch"), rule("services", "get")}, r.shared().Rules); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
