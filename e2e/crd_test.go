package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// website is the spec of a TemplateController that defines its kind.
const website = `
watch: {apiVersion: "@group/v1", kind: Website}
crd:
  names: {shortNames: ["@id"]}
  columns: [{name: Pages, jsonPath: .status.pages}]
  schema:
    spec:
      page: string | required=true
      replicas: integer | default=2 minimum=0
      ports: "[]Port"
    types: {Port: {number: integer | required=true}}
    status: {pages: integer}
children:
- name: page
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}"}
    data: {page: "{{ .spec.page }}", replicas: "{{ .spec.replicas }}"}
status:
  template: "pages: {{ len .children.page }}"
`

const crdRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-crds"}
rules:
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-crds"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-crds"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@user"}]
`

// website applies a parent in the test's namespace.
func (s *scope) website(name, spec string) {
	s.t.Helper()
	s.apply(`{apiVersion: "@group/v1", kind: Website, metadata: {name: ` + name + `}, spec: ` + spec + `}`)
}

// crdReady waits for the CRDReady condition, and returns its message.
func (s *scope) crdReady(status, reason string) string {
	s.t.Helper()
	o := s.waitController("@id", func(o *unstructured.Unstructured) error {
		generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if generation != o.GetGeneration() {
			return fmt.Errorf("generation %d was observed, not %d", generation, o.GetGeneration())
		}
		return condition(o, "CRDReady", status, reason)
	})
	return message(o, "CRDReady")
}

func TestOneFileDefinesKindAndController(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	op := startOperator(t)

	s.applyController("@id", website)
	name := s.expand("websites.@group")
	s.own(definitions, name)
	if text := s.crdReady("False", "Forbidden"); !strings.HasSuffix(text, "is not allowed to create or update CustomResourceDefinitions: grant {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create, patch]}") {
		t.Errorf("message without the permission: %s", text)
	}
	s.delete(env.client.Resource(controllers), "@id")
	waitGone(t, env.client.Resource(controllers), s.id)
	s.apply(strings.ReplaceAll(crdRights, "@user", operatorOf(t)))
	s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Group: definitions.Group, Resource: definitions.Resource, Verb: "create"})

	before, begun := mark(t), time.Now()
	s.controller(website)
	s.website("one", "{page: hello}")
	waitFor(t, s.in(s.resource("websites")), "one", ready)
	took := time.Since(begun)
	t.Logf("from apply to a ready parent: %v", took.Round(10*time.Millisecond))
	if out := s.kubectl("get", s.id); !strings.Contains(out, "NAME   READY   PAGES   AGE\none    True    1       ") {
		t.Errorf("output of kubectl get:\n%s", out)
	}
	config := waitFor(t, s.in(configMaps), "one", nil)
	if err := same("data", map[string]any{"page": "hello", "replicas": "2"}, config.Object["data"]); err != nil {
		t.Error(err)
	}
	written := 0
	for _, e := range op.writes(before) {
		if e.ObjectRef.Resource == definitions.Resource {
			written++
		}
	}
	if written != 1 {
		t.Errorf("the CRD was written %d times", written)
	}

	t.Log("a compatible change is applied, a breaking one is refused, and parents are reconciled in the meantime")
	s.applyController("@id", strings.Replace(website, "page: string |", "more: string\n      page: string |", 1))
	s.crdReady("True", "Established")
	s.website("one", "{page: hello, more: fields}")
	s.applyController("@id", strings.Replace(website, "page: string |", "page: integer |", 1))
	text := s.crdReady("False", "BreakingChange")
	for _, want := range []string{s.expand("spec.more is not in the new schema and would be pruned (in 1 object, for example @ns/one)"), "spec.page does not match the type in the new schema (in 1 object, for example "} {
		if !strings.Contains(text, want) {
			t.Errorf("the refusal does not say %q: %s", want, text)
		}
	}
	s.website("two", "{page: two, more: fields}")
	waitFor(t, s.in(configMaps), "two", nil)
	_, hash, _ := strings.Cut(text, "allowBreaking: \"")
	s.applyController("@id", strings.Replace(strings.Replace(website, "page: string |", "page: integer |", 1), "crd:\n", "crd:\n  allowBreaking: \""+strings.TrimSuffix(hash, "\"")+"\"\n", 1))
	s.crdReady("True", "Established")
	s.delete(s.in(s.resource("websites")), "one")
	s.delete(s.in(s.resource("websites")), "two")
	s.website("three", "{page: 3}")
	waitFor(t, s.in(s.resource("websites")), "three", ready)
	op.quiet(time.Second)

	t.Log("the CRD outlives its TemplateController, and belongs to the next one of that name")
	uid := waitFor(t, env.client.Resource(definitions), name, nil).GetUID()
	s.delete(env.client.Resource(controllers), "@id")
	waitGone(t, env.client.Resource(controllers), s.id)
	s.controller(strings.Replace(website, "page: string |", "page: integer |", 1))
	if now := waitFor(t, env.client.Resource(definitions), name, nil).GetUID(); now != uid {
		t.Error("the CRD was created again")
	}
	s.controllerOther(strings.Replace(website, "page: string |", "page: integer |", 1))
}

// TestInheritedDefaultsSurviveSchemaChanges has an object that was stored before its field with a default was added.
func TestInheritedDefaultsSurviveSchemaChanges(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.apply(strings.ReplaceAll(crdRights, "@user", operatorOf(t)))
	s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Group: definitions.Group, Resource: definitions.Resource, Verb: "create"})
	startOperator(t)
	const none = `
watch: {apiVersion: "@group/v1", kind: Website}
children: [{name: none, template: "{{/* none */}}"}]
crd: {schema: {spec: {page: string}}}
`
	s.own(definitions, s.expand("websites.@group"))
	s.controller(none)
	s.website("one", "{page: hello}")
	for _, row := range []struct{ color, fresh string }{{"default=blue", "blue"}, {"default=red", "red"}, {"required=true", ""}} {
		s.applyController("@id", strings.Replace(none, "page: string", "page: string, color: \"string | "+row.color+"\"", 1))
		s.crdReady("True", "Established")
		eventually(t, soon, func() error { // the API server may still use the previous schema
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": s.group + "/v1", "kind": "Website", "metadata": map[string]any{"name": "fresh"}, "spec": map[string]any{"page": "new"}}}
			created, err := s.in(s.resource("websites")).Create(t.Context(), o, metav1.CreateOptions{DryRun: dryRun})
			if err != nil {
				return same("new object", row.fresh, "")
			}
			color, _, _ := unstructured.NestedString(created.Object, "spec", "color")
			return same("color of a new object", row.fresh, color)
		})
		if err := same("spec", map[string]any{"page": "hello", "color": "blue"}, waitFor(t, s.in(s.resource("websites")), "one", nil).Object["spec"]); err != nil {
			t.Errorf("after %s: %v", row.color, err)
		}
	}
}

// controllerOther applies a second TemplateController that defines the same kind, which must not touch its CRD.
func (s *scope) controllerOther(spec string) {
	s.t.Helper()
	s.applyController("@id-other", spec)
	s.waitController("@id-other", func(o *unstructured.Unstructured) error {
		if err := condition(o, "CRDReady", "False", "CRDNotOwned"); err != nil {
			return err
		}
		if text := message(o, "CRDReady"); !strings.Contains(text, s.expand("belongs to TemplateController @id: ")) {
			return fmt.Errorf("the message is %s", text)
		}
		return nil
	})
}
