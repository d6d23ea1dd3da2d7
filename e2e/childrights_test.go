package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// farGadget is a TemplateController whose Things have a Gadget in namespace @id-NAME, which only the operator deletes.
const farGadget = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: gadget
  scope: Cluster
  template: |
    apiVersion: "@group/v1"
    kind: Gadget
    metadata: {name: "{{ .metadata.name }}", namespace: "@id-{{ .metadata.name }}"}
    spec: {text: {{ .spec.text }}}
`

// gadgetRole is the operator's role for Things, and for Gadgets with VERBS.
const gadgetRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "e2e-@id"}
rules:
- {apiGroups: ["@group"], resources: [things, things/status], verbs: [get, list, watch, patch]}
- {apiGroups: ["@group"], resources: [gadgets], verbs: [VERBS]}
`

// gadgets are the Gadgets of the Thing with that name.
func (s *scope) gadgets(of string) dynamic.ResourceInterface {
	return env.client.Resource(s.resource("gadgets")).Namespace(s.id + "-" + of)
}

func TestRevokedChildPermissionsAreNamed(t *testing.T) {
	parallel(t)
	root := newScope(t)
	root.defineThing()
	root.define("Gadget", "Namespaced")
	startOperator(t)
	root.controller(farGadget)
	text := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			got, _, _ := unstructured.NestedString(o.Object, "spec", "text")
			return same("text", want, got)
		}
	}
	for _, row := range []struct {
		verb string
		need func(s *scope) // makes the operator need the permission
	}{
		{"patch", func(s *scope) { s.patch(s.things(), "patch", `{"spec":{"text":"second"}}`) }},
		{"create", func(s *scope) { s.delete(s.gadgets("create"), "create") }},
		{"delete", func(s *scope) { s.delete(s.things(), "delete") }},
	} {
		root.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@id-` + row.verb + `"}}`) // permission reviews are cached by namespace
		t.Run(row.verb, func(t *testing.T) {
			s := root.at(t)
			gadgets := s.gadgets(row.verb)
			allow := func(verbs ...string) {
				s.apply(strings.Replace(gadgetRole, "VERBS", strings.Join(verbs, ", "), 1))
			}
			all := []string{"get", "list", "watch", "create", "patch", "delete"}
			s.thing(row.verb, "{text: first}")
			waitFor(t, s.things(), row.verb, ready)
			before := waitFor(t, gadgets, row.verb, text("first"))

			allow(slices.DeleteFunc(slices.Clone(all), func(verb string) bool { return verb == row.verb })...)
			s.waitForbidden(operatorOf(t), authorizationv1.ResourceAttributes{Group: s.group, Resource: "gadgets", Namespace: s.id + "-" + row.verb, Verb: row.verb})
			row.need(s)
			s.waitsFor(row.verb, "ChildForbidden", "templater is not allowed to "+row.verb+" gadgets.@group in namespace @id-"+row.verb)
			s.waitsFor(row.verb, "ChildForbidden", "add {apiGroups: [@group], resources: [gadgets], verbs: ["+row.verb+"]}")
			if row.verb == "create" {
				waitGone(t, gadgets, row.verb)
			} else {
				o := waitFor(t, gadgets, row.verb, nil)
				if err := errors.Join(going(false)(o), same("UID", before.GetUID(), o.GetUID()), text("first")(o)); err != nil {
					t.Errorf("the child, without the permission: %v", err)
				}
			}

			allow(all...)
			if row.verb != "delete" {
				waitFor(t, s.things(), row.verb, ready)
				if now := waitFor(t, gadgets, row.verb, nil); (now.GetUID() == before.GetUID()) != (row.verb == "patch") {
					t.Errorf("the child had the UID %s, and has %s", before.GetUID(), now.GetUID())
				}
				s.delete(s.things(), row.verb)
			}
			waitGone(t, s.things(), row.verb)
			waitGone(t, gadgets, row.verb)
		})
	}
}
