package e2e

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// immutables creates objects, each with a field that cannot be changed, which contains spec.word of the parent.
const immutables = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: all
  updateStrategy: {onImmutable: Recreate}
  template: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      replicas: 0
      selector: {matchLabels: {word: "{{ .spec.word }}"}}
      template:
        metadata: {labels: {word: "{{ .spec.word }}"}}
        spec: {containers: [{name: main, image: "busybox:1.36"}]}
    ---
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      replicas: 0
      serviceName: none
      selector: {matchLabels: {app: x}}
      template:
        metadata: {labels: {app: x}}
        spec: {containers: [{name: main, image: "busybox:1.36"}]}
      volumeClaimTemplates:
      - metadata: {name: "{{ .spec.word }}"}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
    ---
    apiVersion: batch/v1
    kind: Job
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      suspend: true
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1.36", args: ["{{ .spec.word }}"]}]}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      clusterIP: {{ ternary "" "None" (eq .spec.word "one") | quote }}
      ports: [{port: 80}]
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}"}
    data: {word: "{{ .spec.word }}"}
`

func TestOnImmutableRecreatesObjects(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.controller(immutables)
	s.thing("it", "{word: one}")
	kinds := map[string]schema.GroupVersionResource{
		"Deployment":  deployments,
		"StatefulSet": {Group: "apps", Version: "v1", Resource: "statefulsets"},
		"Job":         {Group: "batch", Version: "v1", Resource: "jobs"},
		"Service":     services,
		"ConfigMap":   configMaps,
	}
	before := map[string]*unstructured.Unstructured{}
	for kind, resource := range kinds {
		before[kind] = waitFor(t, s.in(resource), "it", nil)
	}
	s.patch(s.things(), "it", `{"spec":{"word":"two"}}`)
	for kind, resource := range kinds {
		waitFor(t, s.in(resource), "it", func(o *unstructured.Unstructured) error {
			if kind == "ConfigMap" {
				if word, _, _ := unstructured.NestedString(o.Object, "data", "word"); word != "two" || o.GetUID() != before[kind].GetUID() {
					return fmt.Errorf("the ConfigMap has %q and UID %s, want an update of %s", word, o.GetUID(), before[kind].GetUID())
				}
				return nil
			}
			return renewed(before[kind], o)
		})
	}
	s.patch(s.in(deployments), "it", `{"spec":{"replicas":1}}`) // drift is reverted, and recreates nothing
	recreated := waitFor(t, s.in(deployments), "it", nil)
	waitFor(t, s.in(deployments), "it", func(o *unstructured.Unstructured) error {
		if n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); n != 0 || o.GetUID() != recreated.GetUID() {
			return fmt.Errorf("it has %d replicas and UID %s, want 0 and %s", n, o.GetUID(), recreated.GetUID())
		}
		return nil
	})
}
