package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// twoLevels creates NAME-top, which depends on NAME-base and has a finalizer that a test removes, and, when a parent is
// deleted, NAME-last, which a test marks as ready.
const twoLevels = `
watch: {apiVersion: "@group/v1", kind: Thing}
finalize:
  order: Reverse
  timeout: 1h
  children:
  - name: last
    readyWhen: eq .object.data.done "yes"
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}-last"}
      data: {saw: "{{ len .children.top }}"}
children:
- name: base
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-base"}
- name: top
  dependsOn: [base]
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-top", finalizers: [example.org/hold]}
status:
  template: |
    last: {{ len .children.last }}
`

// ordered is twoLevels without NAME-last.
var ordered = twoLevels[:strings.Index(twoLevels, "  children:\n  - name: last")] + strings.Replace(twoLevels[strings.Index(twoLevels, "children:\n- name: base"):], ".children.last", ".children.base", 1)

// finalizerOf is the finalizer of the parents.
func (s *scope) finalizerOf() string { return s.expand("finalize.templater.dev/@id") }

// waitsFor waits until the ready condition of a parent has that reason and a message that contains text.
func (s *scope) waitsFor(name, reason, text string) {
	s.t.Helper()
	waitFor(s.t, s.things(), name, func(o *unstructured.Unstructured) error {
		if got := message(o, "Ready"); !strings.Contains(got, s.expand(text)) {
			return fmt.Errorf("the message is %q, want %q in it", got, s.expand(text))
		}
		return condition(o, "Ready", "False", reason)
	})
}

// going checks whether an object has a deletion timestamp.
func going(is bool) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error { return same("is going", is, o.GetDeletionTimestamp() != nil) }
}

// letGo removes the finalizer of a child.
func (s *scope) letGo(name string) {
	s.patch(s.in(configMaps), name, `{"metadata":{"finalizers":null}}`)
}

func TestDeletedParentWaitsForOrderedChildDeletion(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newCollectedScope(t)
	op := startOperator(t)
	s.controller(twoLevels)
	// deletes deletes a parent that is ready, and returns the UID of its child base.
	deletes := func(name string, how metav1.DeletionPropagation) types.UID {
		t.Helper()
		s.thing(name, "{}")
		s.held(name)
		base := waitFor(t, s.in(configMaps), name+"-base", nil).GetUID()
		s.waitCollectorKnows()
		if err := s.things().Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
			t.Fatal(err)
		}
		return base
	}
	deletes("one", metav1.DeletePropagationBackground)
	s.waitsFor("one", "Finalizing", "waiting for spec.finalize.children: 0 of 1 children are ready: ConfigMap @ns/one-last")
	waitFor(t, s.in(configMaps), "one-top", going(false))
	op.Kill()
	op = startOperator(t)
	s.patch(s.in(configMaps), "one-last", `{"data":{"done":"yes"}}`)
	s.waitsFor("one", "Finalizing", "waiting for its children to be deleted: ConfigMap @ns/one-top")
	waitFor(t, s.in(configMaps), "one-top", going(true))
	waitFor(t, s.in(configMaps), "one-base", going(false))
	waitFor(t, s.in(configMaps), "one-last", func(o *unstructured.Unstructured) error {
		saw, _, _ := unstructured.NestedString(o.Object, "data", "saw")
		return errors.Join(going(false)(o), same("what it saw", "1", saw))
	})
	op.Kill()
	op = startOperator(t)
	s.letGo("one-top")
	waitGone(t, s.in(configMaps), "one-base")
	waitGone(t, s.things(), "one")
	waitGone(t, s.in(configMaps), "one-last") // by the garbage collector

	t.Log("--cascade=foreground: the garbage collector deletes the children immediately, but not finalize children")
	first := deletes("two", metav1.DeletePropagationForeground)
	eventually(t, soon, func() error { // an operator that observes this before the deletion of the parent recreates it once
		o, err := s.in(configMaps).Get(t.Context(), "two-base", metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && o.GetUID() != first {
			return nil
		}
		return errors.Join(errors.New("two-base is still there, or cannot be read"), err)
	})
	s.letGo("two-top")
	waitFor(t, s.in(configMaps), "two-last", nil)
	s.patch(s.in(configMaps), "two-last", `{"data":{"done":"yes"}}`)
	waitGone(t, s.things(), "two")
	waitGone(t, s.in(configMaps), "two-top")
	waitGone(t, s.in(configMaps), "two-base")

	t.Log("--cascade=orphan")
	since := mark(t)
	deletes("three", metav1.DeletePropagationOrphan)
	waitGone(t, s.things(), "three")
	for _, child := range []string{"three-base", "three-top"} {
		waitFor(t, s.in(configMaps), child, func(o *unstructured.Unstructured) error {
			return errors.Join(going(false)(o), same("owners", 0, len(o.GetOwnerReferences())))
		})
	}
	for _, r := range op.requests(since) {
		if strings.HasPrefix(r.Verb, "delete") && strings.HasPrefix(r.ObjectRef.Name, "three-") {
			t.Errorf("the operator has deleted a child that is to stay: %v", r)
		}
	}
	s.letGo("three-top")
}

func TestTeardownAlwaysReleasesParents(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.controller(twoLevels)
	for _, name := range []string{"broken", "rights", "controller", "other"} {
		s.thing(name, "{}")
		waitFor(t, s.things(), name, ready)
	}

	t.Log("invalid spec while a parent is being deleted")
	s.delete(s.things(), "broken")
	s.waitsFor("broken", "Finalizing", "waiting for spec.finalize.children")
	s.applyController("@id", strings.Replace(twoLevels, "len .children.top", "nosuch .children.top", 1))
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Accepted", "False", "InvalidTemplate") })
	s.waitsFor("broken", "Finalizing", "until TemplateController @id is accepted")
	s.controller(ordered)
	waitFor(t, s.in(configMaps), "broken-top", going(true))
	s.letGo("broken-top")
	waitGone(t, s.things(), "broken")

	t.Log("permission revoked while a parent is being deleted")
	s.delete(s.things(), "rights")
	waitFor(t, s.in(configMaps), "rights-top", going(true))
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "e2e-@id"}
rules:
- {apiGroups: ["@group"], resources: [things], verbs: [get, list, watch]}
- {apiGroups: ["@group"], resources: [things/status], verbs: [patch]}
`
	s.apply(role)
	s.letGo("rights-top")
	s.waitsFor("rights", "FinalizerRejected", "templater is not allowed to patch things.@group in namespace @ns: add {apiGroups: [@group], resources: [things], verbs: [patch]}")
	s.apply(strings.Replace(role, "[get, list, watch]", "[get, list, watch, patch]", 1))
	waitGone(t, s.things(), "rights")

	t.Log("TemplateController suspended, then deleted, while a parent is being deleted")
	s.patchController(`{"spec":{"suspend":true}}`)
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Suspended") })
	s.delete(s.things(), "controller")
	s.delete(env.client.Resource(controllers), "@id")
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		if !strings.Contains(message(o, "Ready"), "being deleted: spec.suspend is true") {
			return fmt.Errorf("the message is %q", message(o, "Ready"))
		}
		return condition(o, "Ready", "False", "Suspended")
	})
	waitFor(t, s.things(), "controller", going(true))
	s.patchController(`{"spec":{"suspend":false}}`)
	waitGone(t, env.client.Resource(controllers), s.id)
	waitGone(t, s.things(), "controller")
	waitFor(t, s.things(), "other", func(o *unstructured.Unstructured) error { return same("finalizers", 0, len(o.GetFinalizers())) })
}

func TestParentsDeletedWithNamespaceOrCRD(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.controller(strings.Replace(twoLevels, ", finalizers: [example.org/hold]", "", 1))
	all := env.client.Resource(namespaces)
	in := func(space string) { // creates a parent in a namespace, and deletes the namespace
		s.apply(strings.NewReplacer("@space", space).Replace(`
apiVersion: v1
kind: Namespace
metadata: {name: "@space"}
---
apiVersion: "@group/v1"
kind: Thing
metadata: {name: one, namespace: "@space"}
`))
		waitFor(t, env.client.Resource(s.resource("things")).Namespace(s.expand(space)), "one", ready)
		s.delete(all, space)
	}

	t.Log("the namespace of a parent is deleted")
	in("@id-2")
	waitGone(t, all, s.id+"-2")

	t.Log("and without a timeout")
	s.patchController(`{"spec":{"finalize":{"timeout":null}}}`)
	in("@id-3")
	waitGone(t, all, s.id+"-3")

	t.Log("the definition of the parents is deleted")
	s.thing("one", "{}")
	waitFor(t, s.things(), "one", ready)
	s.delete(env.client.Resource(definitions), "things.@group")
	waitFor(t, s.in(configMaps), "one-last", nil)
	waitFor(t, s.in(configMaps), "one-top", going(false))
	s.patch(s.in(configMaps), "one-last", `{"data":{"done":"yes"}}`)
	waitGone(t, s.in(configMaps), "one-top")
	waitGone(t, s.in(configMaps), "one-base")
	waitGone(t, env.client.Resource(definitions), s.expand("things.@group"))
}
