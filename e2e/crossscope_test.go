package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	quotas       = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	roleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
)

// manifestsOf returns the manifests of a page, in order, with its names replaced by those of the scope.
func manifestsOf(t *testing.T, page string, names ...string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(env.root, page))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, part := range strings.Split(string(text), "\n```") {
		if manifest, ok := strings.CutPrefix(part, "yaml\n"); ok && i%2 == 1 {
			all = append(all, strings.NewReplacer(names...).Replace(manifest))
		}
	}
	return all
}

// TestCrossNamespaceTeamExample creates a Namespace with a quota and RBAC from one namespaced object, and removes it,
// even if the operator is stopped when the object is deleted.
func TestCrossNamespaceTeamExample(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.define("Team", "Namespaced")
	page := manifestsOf(t, "docs/how-to/other-namespaces.md", "example.com", "@group", "namespaces: [teams]", `namespaces: ["@ns"]`, "name: teams}", `name: "@id"}`, "team-{{", "@id-{{", "name: templater-teams", `name: "@id"`)
	if len(page) != 3 {
		t.Fatalf("the page has %d manifests, want a Team, a TemplateController and a ClusterRole", len(page))
	}
	s.apply(page[2])
	s.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@operator"}]
`)
	s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Resource: "resourcequotas", Verb: "list"})
	op := startOperator(t)
	s.apply(page[1])
	s.apply(page[0])
	space := s.id + "-crew"
	s.own(namespaces, space)
	teams := s.in(s.resource("teams"))
	waitFor(t, teams, "crew", ready)
	inside := env.client.Resource(roleBindings).Namespace(space)
	waitFor(t, env.client.Resource(quotas).Namespace(space), "team", nil)
	waitFor(t, inside, "team", func(o *unstructured.Unstructured) error {
		return errors.Join(same("owners", 0, len(o.GetOwnerReferences())), same("parent", s.ns+"/crew", o.GetAnnotations()["templater.dev/parent"]))
	})
	s.waitAllowed("bob", authorizationv1.ResourceAttributes{Namespace: space, Resource: "configmaps", Verb: "create"})
	s.patch(teams, "crew", `{"spec":{"members":["ann"]}}`)
	waitFor(t, inside, "team", func(o *unstructured.Unstructured) error {
		return same("members", 1, len(o.Object["subjects"].([]any)))
	})
	op.Stop()
	s.delete(teams, "crew")
	waitFor(t, env.client.Resource(namespaces), space, func(o *unstructured.Unstructured) error {
		return same("deletion of what the Team has, before the operator is back", true, o.GetDeletionTimestamp() == nil)
	})
	startOperator(t)
	waitGone(t, teams, "crew")
	if _, err := env.client.Resource(namespaces).Get(t.Context(), space, getOptions); !apierrors.IsNotFound(err) {
		t.Errorf("the Team was deleted before its Namespace: %v", err)
	}
}

// secretElsewhere is a TemplateController whose Things have a Secret in a namespace from their spec, and a ClusterRole.
const secretElsewhere = `
whenDeleted: DeleteChildren
serviceAccountRef: {namespace: "@ns", name: robot}
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns", "@id-2"]}
children:
- name: secret
  scope: Cluster
  template: |
    apiVersion: v1
    kind: Secret
    metadata: {name: {{ .spec.name }}, namespace: "@id-far"}
    stringData: {of: "{{ .metadata.namespace }}"}
- name: role
  scope: Cluster
  template: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: "@id-{{ .spec.name }}"}
`

// TestParentsNeverShareChild has two parents in two namespaces that render the same objects, using a service account.
func TestParentsNeverShareChild(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	s.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@id-2"}}` + "\n---\n" + `{apiVersion: v1, kind: Namespace, metadata: {name: "@id-far"}}`)
	user := s.account("robot", thingRules)
	s.apply(strings.ReplaceAll(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-robot"}
rules:
- {apiGroups: ["@group"], resources: [things], verbs: [get, list, patch, watch]}
- {apiGroups: ["@group"], resources: [things/status], verbs: [patch]}
- {apiGroups: [""], resources: [secrets], verbs: [create, delete, get, list, patch, watch]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [create, delete, get, list, patch, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-robot"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-robot"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@user"}]
`, "@user", user))
	startOperator(t)
	s.controller(secretElsewhere)
	far, second := env.client.Resource(secrets).Namespace(s.id+"-far"), env.client.Resource(s.resource("things")).Namespace(s.id+"-2")
	role := s.id + "-x"
	s.own(clusterRoles, role)
	s.thing("one", `{name: x}`)
	waitFor(t, s.things(), "one", ready)
	first := waitFor(t, far, "x", nil)
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: one, namespace: "@id-2"}, spec: {name: x}}`)
	waitFor(t, second, "one", func(o *unstructured.Unstructured) error {
		want := s.expand("Secret @id-far/x already exists and belongs to TemplateController @id for another parent, named in its annotation templater.dev/parent")
		if got := message(o, "Ready"); !strings.Contains(got, want) || strings.Contains(got, s.ns+"/one") {
			return fmt.Errorf("the message is %q, want %q in it, and no parent", got, want)
		}
		return condition(o, "Ready", "False", "ChildConflict")
	})
	if now := waitFor(t, far, "x", nil); now.GetResourceVersion() != first.GetResourceVersion() {
		t.Error("the second has changed the object of the first")
	}
	s.delete(s.things(), "one")
	waitGone(t, s.things(), "one")
	s.patch(second, "one", `{"metadata":{"labels":{"look":"again"}}}`) // otherwise after 30 s
	waitFor(t, second, "one", ready)
	waitFor(t, far, "x", func(o *unstructured.Unstructured) error {
		return errors.Join(same("parent", s.id+"-2/one", o.GetAnnotations()["templater.dev/parent"]), same("new", true, o.GetUID() != first.GetUID()))
	})

	t.Log("the namespace of the second is deleted")
	s.delete(env.client.Resource(namespaces), s.id+"-2")
	waitGone(t, env.client.Resource(namespaces), s.id+"-2")
	for _, gone := range []struct {
		in   schema.GroupVersionResource
		name string
	}{{secrets, "x"}, {clusterRoles, role}} {
		in := env.client.Resource(gone.in)
		if gone.in == secrets {
			waitGone(t, in.Namespace(s.id+"-far"), gone.name)
			continue
		}
		waitGone(t, in, gone.name)
	}

	t.Log("the TemplateController is deleted")
	s.thing("three", `{name: z}`)
	waitFor(t, s.things(), "three", ready)
	s.own(clusterRoles, s.id+"-z")
	s.delete(env.client.Resource(controllers), "@id")
	waitGone(t, env.client.Resource(controllers), s.id)
	waitGone(t, far, "z")
	if f := waitFor(t, s.things(), "three", nil).GetFinalizers(); len(f) > 0 {
		t.Errorf("finalizers of a parent whose TemplateController is deleted: %v", f)
	}
}
