package e2e

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const oneMap = `
watch: {apiVersion: "@group/v1", kind: Thing}
finalize: {order: Reverse}
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}"}
    data: {color: {{ .spec.color }}}
`

// TestSuspendedParent edits, damages and deletes a suspended parent.
func TestSuspendedParent(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(oneMap)
	s.thing("one", `{color: red}`)
	waitFor(t, s.things(), "one", ready)

	s.patch(s.things(), "one", `{"metadata":{"annotations":{"templater.dev/suspend":"true"}}}`)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "Unknown", "Suspended") })
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		n, _, err := unstructured.NestedInt64(o.Object, "status", "parents", "suspended")
		return errors.Join(err, same("suspended parents", int64(1), n))
	})
	op.quiet(time.Second)
	before := mark(t)
	s.patch(s.things(), "one", `{"spec":{"color":"green"}}`)
	s.patch(s.in(configMaps), "one", `{"data":{"color":"blue"}}`)
	op.quiet(2 * time.Second)
	op.expectNoChildWrites("edits of a suspended parent", before)

	s.patch(s.things(), "one", `{"metadata":{"annotations":{"templater.dev/suspend":null}}}`)
	waitFor(t, s.things(), "one", ready)
	waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"color": "green"}, o.Object["data"])
	})

	t.Log("it is deleted while it is suspended")
	s.patch(s.things(), "one", `{"metadata":{"annotations":{"templater.dev/suspend":"true"}}}`)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "Unknown", "Suspended") })
	s.delete(s.things(), "one")
	op.quiet(2 * time.Second)
	waitFor(t, s.things(), "one", going(true))
	waitFor(t, s.in(configMaps), "one", going(false))
	s.patch(s.things(), "one", `{"metadata":{"annotations":{"templater.dev/suspend":null}}}`)
	waitGone(t, s.things(), "one")
	waitGone(t, s.in(configMaps), "one")
}

// TestReconcileAt retries a write that would be retried after 30 seconds.
func TestReconcileAt(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(`
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: config
  scope: Cluster
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "@id-missing"}}
`)
	s.thing("one", `{}`)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "NamespaceNotFound") })
	for _, value := range []string{"1", "2"} {
		op.quiet(time.Second)
		before := mark(t)
		s.patch(s.things(), "one", `{"metadata":{"annotations":{"templater.dev/reconcile-at":"`+value+`"}}}`)
		eventually(t, 20*time.Second, func() error {
			if len(op.writes(before)) == 0 {
				return errors.New("the write is not retried")
			}
			return nil
		})
	}
	s.delete(s.things(), "one") // the operator removes its finalizer
	waitGone(t, s.things(), "one")
}
