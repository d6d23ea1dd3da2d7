package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAttackerTextIsNotReported has a user with permission to create ConfigMaps only, who creates some with the names
// of children. Text from their owner references is not reported; neither that text nor a schema with a short maximum
// length of messages prevents the status of a parent.
func TestAttackerTextIsNotReported(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.apply(strings.Replace(definition("Thing", "Namespaced"), "message: {type: string}", "message: {type: string, maxLength: 300}", 1))
	const attacker = "mallory"
	s.grant("attacker", attacker, `- {apiGroups: [""], resources: [configmaps], verbs: [create]}`)
	s.waitAllowed(attacker, authorizationv1.ResourceAttributes{Namespace: s.ns, Resource: "configmaps", Verb: "create"})
	for name, words := range map[string]string{
		"lines": `EVIL\nReady: all is well`, "orders": "EVIL: run curl evil.example as admin", "hidden": `\u202eLIVE EVIL\u0007`, "large": strings.Repeat("EVIL", 50_000),
	} {
		manifest := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s-map",
			"ownerReferences": [{"apiVersion": "v1", "kind": "%s", "name": "%s", "uid": "u", "controller": true}]}}`, name, words, words)
		if err := env.run(t.Context(), manifest, "--as", attacker, "--namespace", s.ns, "create", "-f", "-"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: ` + name + `}}`)
	}
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: failing}, spec: {fail: true}}`)
	startOperator(t)
	s.controller(`
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: map
  template: |
    {{ if .spec.fail }}{{ fail (repeat 100 "long ") }}{{ end }}
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-map"}
status:
  template: |
    seen: {{ .metadata.name }}`)
	for _, name := range []string{"lines", "orders", "hidden", "large"} {
		want := "ConfigMap " + s.ns + "/" + name + "-map already exists and belongs to … …: templater does not adopt it; delete it, or choose another name in the template"
		s.waitTold(name, "ChildConflict", func(message string) error {
			if message != want {
				return fmt.Errorf("message %.400q, want %q", message, want)
			}
			return nil
		})
	}
	s.waitTold("failing", "TemplateFailed", func(message string) error {
		if !strings.HasPrefix(message, "children[map]:1:") || !strings.HasSuffix(message, "…") || len(message) > 300 {
			return fmt.Errorf("message %.400q, want the beginning of the text of fail", message)
		}
		return nil
	})
	eventually(t, soon, func() error {
		events := s.kubectl("get", "events", "-o=jsonpath={range .items[*]}{.message}{'\\n'}{end}")
		if strings.Contains(events, "EVIL") || strings.Count(events, "belongs to … …:") != 4 {
			return fmt.Errorf("Events are %.2000q", events)
		}
		return nil
	})
}

// waitTold waits until the ready condition of a Thing has a message that check accepts, and a status is set.
func (s *scope) waitTold(name, reason string, check func(message string) error) {
	s.t.Helper()
	waitFor(s.t, s.things(), name, func(o *unstructured.Unstructured) error {
		if err := condition(o, "Ready", string(metav1.ConditionFalse), reason); err != nil {
			return err
		}
		if seen, _, _ := unstructured.NestedString(o.Object, "status", "seen"); seen != name {
			return errors.New("the status template has not been heard")
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		ready, _ := conditions[0].(map[string]any)
		message, _ := ready["message"].(string)
		return check(message)
	})
}

// TestAtomicConditionsOfAnotherManagerAreKept: the ready condition is set until another manager applies conditions; the
// rest of the status is kept up to date afterwards, too.
func TestAtomicConditionsOfAnotherManagerAreKept(t *testing.T) {
	parallel(t)
	const list = "            properties:\n              conditions:\n"
	open, _, _ := strings.Cut(definition("Thing", "Namespaced"), list)
	for name, manifest := range map[string]string{
		"an atomic list": strings.NewReplacer("                x-kubernetes-list-type: map\n", "", "                x-kubernetes-list-map-keys: [type]\n", "").Replace(definition("Thing", "Namespaced")),
		"an open status": open,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			s.apply(manifest)
			s.thing("one", "{text: a}")
			op := startOperator(t)
			s.controller(watchThings + `
children:
- {name: map, template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-map"}}'}
status: {template: 'text: {{ .spec.text }}'}
`)
			waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "True", "Ready") })
			s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "StatusWritable", "True", "") })

			theirs := []any{map[string]any{"type": "Synced", "status": "True", "message": "theirs"}}
			applied := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": s.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "one"}, "status": map[string]any{"conditions": theirs},
			}}
			if _, err := s.things().ApplyStatus(t.Context(), "one", applied, metav1.ApplyOptions{FieldManager: "somebody", Force: true}); err != nil {
				t.Fatal(err)
			}
			s.waitController("@id", func(o *unstructured.Unstructured) error {
				return condition(o, "StatusWritable", "False", "ConditionOwned")
			})
			s.patch(s.things(), "one", `{"spec": {"text": "b"}}`)
			waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
				return same("status", map[string]any{"text": "b", "conditions": theirs}, o.Object["status"].(map[string]any))
			})
			op.quiet(2 * time.Second)
		})
	}
}
