package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestHostileObjectsAffectNoOthers makes users of a namespace write objects that are expensive or impossible to decode,
// before and after a restart of templater: a parent with the maximum nesting that the API server accepts, and children
// with a huge number and with thousands of list items under templater's field manager.
func TestHostileObjectsAffectNoOthers(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(oneConfigMap)
	s.thing("victim", `{color: red}`)
	waitFor(t, s.things(), "victim", ready)
	others := 0
	served := func() {
		t.Helper()
		others++
		name := fmt.Sprint("other-", others)
		s.thing(name, `{color: red}`)
		waitFor(t, s.in(configMaps), name, nil)
	}

	deep := any(map[string]any{})
	for range 9_997 {
		deep = []any{deep}
	}
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.group + "/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "deep", "namespace": s.ns}, "spec": map[string]any{"color": "red", "x": deep},
	}}
	if _, err := s.things().Create(t.Context(), thing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, s.in(configMaps), "deep", nil)
	served()

	mallory := s.attacker(s.ns, "get", "update", "patch", "delete") // without delete permission, it could not write owner references
	repaired := func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"color": "red"}, o.Object["data"])
	}
	hide := func(change func(o *unstructured.Unstructured)) {
		t.Helper()
		o := waitFor(t, s.in(configMaps), "victim", repaired)
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		change(o)
		if _, err := mallory.Apply(t.Context(), "victim", o, metav1.ApplyOptions{FieldManager: "templater/" + s.id, Force: true}); err != nil {
			t.Fatal(err)
		}
		served()
		waitFor(t, s.in(configMaps), "victim", repaired)
	}
	for range 2 {
		hide(func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"color": "1e2147483647"} })
		hide(func(o *unstructured.Unstructured) {
			owners := o.GetOwnerReferences()
			for i := range 2_000 { // the server escapes the UID in the keys of managedFields
				owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "none", UID: types.UID(fmt.Sprint("<", i))})
			}
			o.SetOwnerReferences(owners)
			o.Object["data"] = map[string]any{"color": "blue"}
		})
		op.Stop()
		op = startOperator(t)
		served()
	}
	if strings.Contains(string(op.logged()), "not JSON") {
		t.Error("a watch could not be read")
	}
}
