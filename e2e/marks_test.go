package e2e

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPolicyAndNameEditsKeepChildren edits every field of a TemplateController that does not affect its author's
// content. Each object gets updated metadata, and nothing set by others is lost.
func TestPolicyAndNameEditsKeepChildren(t *testing.T) {
	parallel(t)
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			s := newScope(t)
			s.defineThing()
			op := startOperator(t)
			spec := func(name string, lines ...string) string {
				entry := configMapsOf("drop", strings.Join(append(lines, "updateStrategy: {type: "+strategy+"}"), "\n"))
				return watchThings + "\nchildren:" + strings.Replace(entry, "- name: drop", "- name: "+name, 1)
			}
			s.controller(spec("drop"))
			s.thing("one", `{drop: {a: "1", b: "1"}}`)
			s.expectConfigMaps("one-drop-a", "one-drop-b")
			stay := s.stay("one-drop-a", "one-drop-b")
			s.patch(s.in(configMaps), "one-drop-a", `{"metadata":{"labels":{"mine":"yes"},"ownerReferences":`+s.bothOwners("one-drop-a")+`}}`)
			for _, edit := range []struct {
				name   string
				lines  []string
				prune  string
				orphan bool
			}{
				{"drop", []string{"prunePolicy: Orphan"}, "Orphan", false},
				{"drop", []string{"deletionPolicy: Orphan"}, "", true},
				{"files", []string{"prunePolicy: Orphan", "deletionPolicy: Orphan"}, "Orphan", true},
				{"drop", nil, "", false},
			} {
				s.controller(spec(edit.name, edit.lines...))
				for _, name := range []string{"one-drop-a", "one-drop-b"} {
					waitFor(t, s.in(configMaps), name, func(o *unstructured.Unstructured) error {
						notes := o.GetAnnotations()
						return errors.Join(
							same("label", edit.name, o.GetLabels()["templater.dev/child"]),
							same("prune", edit.prune, notes["templater.dev/prune"]),
							same("parent", map[bool]string{true: "one"}[edit.orphan], notes["templater.dev/parent"]),
							same("has the owner", !edit.orphan, metav1.GetControllerOf(o) != nil),
						)
					})
				}
			}
			op.quiet(time.Second)
			stay()
			a := waitFor(t, s.in(configMaps), "one-drop-a", nil)
			if a.GetLabels()["mine"] != "yes" || len(a.GetOwnerReferences()) != 2 {
				t.Errorf("what others have set is lost: labels %v, owners %v", a.GetLabels(), a.GetOwnerReferences())
			}
			waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "True", "Ready") })
		})
	}
}

// bothOwners are the owner references of a ConfigMap, plus one to an existing ConfigMap.
func (s *scope) bothOwners(name string) string {
	s.t.Helper()
	o, other := waitFor(s.t, s.in(configMaps), name, nil), waitFor(s.t, s.in(configMaps), "one-drop-b", nil)
	text, err := json.Marshal(append(o.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: other.GetName(), UID: other.GetUID()}))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
