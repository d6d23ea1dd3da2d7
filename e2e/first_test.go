package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// oneConfigMap makes a ConfigMap from each Thing.
const oneConfigMap = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ .metadata.name }}
    data:
      color: {{ .spec.color }}
status:
  template: |
    configs: {{ .children.config | collect "metadata.name" | toJson }}
`

func TestFirstPassIsOneWriteForTheChildAndOneForTheStatus(t *testing.T) {
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(oneConfigMap)
	// The first parent teaches the operator the kinds of the children; what counts is the second.
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: first}, spec: {color: red}}`)
	waitFor(t, s.things(), "first", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "True", "") })
	op.quiet(time.Second)
	before := mark(t)
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: second}, spec: {color: red}}`)
	waitFor(t, s.things(), "second", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "True", "") })
	op.quiet(time.Second)
	got := tally(op.requests(before))
	t.Logf("requests for one parent with one child: %v", got)
	want := map[string]int{"patch configmaps 201": 1, "patch things/status 200": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
