package e2e

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// copies has Things that read other objects: a ConfigMap in another namespace, named in their spec, and a ConfigMap in
// their own, without which no child is rendered. They list their peers.
const copies = `
watch: {apiVersion: "@group/v1", kind: Thing}
related:
- name: source
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchLabels: {shared: "@id"}}
  watchFields: [data]
  select: |
    name: {{ .spec.from.name }}
    namespace: {{ .spec.from.namespace }}
- name: settings
  apiVersion: v1
  kind: ConfigMap
  fieldSelector: metadata.name=settings
- name: peers
  apiVersion: "@group/v1"
  kind: Thing
  select: |
    labelSelector: {matchLabels: {team: {{ .metadata.labels.team }}}}
children:
- name: copy
  template: |
    {{- if not .related.settings }}{{ wait "ConfigMap settings does not exist yet" }}{{ end }}
    {{- range .related.source }}
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ $.metadata.name }}-copy"}
    data: {text: "{{ .data.text }} {{ (first $.related.settings).data.mark }}"}
    {{- end }}
status:
  template: |
    peers: {{ .related.peers | collect "metadata.name" | toJson }}
`

// TestRelatedObjects covers use cases of other tools' hooks: copies of objects that a parent names (Metacontroller's
// customize hook), an object that is only read (kro's externalRef), an index of objects (Kopf), sums over other
// parents, and Services for the Pods of foreign StatefulSets (Metacontroller's DecoratorController).
func TestRelatedObjects(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controllerNamed("@id", copies)
	s.controllerNamed("@id-services", serviceForEachPod)

	s.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@id-far"}}`)
	s.applySource("one")
	for name, team := range map[string]string{"a": "red", "b": "red", "c": "blue"} {
		s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: ` + name + `, labels: {team: ` + team + `}}, spec: {from: {namespace: "@id-far", name: source}}}`)
	}
	waitFor(t, s.things(), "a", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Waiting") })
	s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mark: "!"}}`)
	s.waitText("a-copy", "one !")
	for name, peers := range map[string][]any{"a": {"a", "b"}, "b": {"a", "b"}, "c": {"c"}} {
		waitFor(t, s.things(), name, func(o *unstructured.Unstructured) error {
			if got, _, _ := unstructured.NestedSlice(o.Object, "status", "peers"); !reflect.DeepEqual(got, peers) {
				return fmt.Errorf("peers of %s: %v, want %v", name, got, peers)
			}
			return ready(o)
		})
	}
	s.relatedServices()
	s.relatedRequests(op)
}

// serviceForEachPod creates a Service for each Pod of a labeled StatefulSet.
const serviceForEachPod = `
watch: {apiVersion: apps/v1, kind: StatefulSet, labelSelector: {matchLabels: {service-per-pod: "@id"}}}
related:
- name: pods
  apiVersion: v1
  kind: Pod
  labelSelector: {matchExpressions: [{key: statefulset.kubernetes.io/pod-name, operator: Exists}]}
  watchFields: [metadata.deletionTimestamp]
  select: |
    labelSelector: {{ toJson .spec.selector }}
children:
- name: services
  template: |
    {{- range .related.pods }}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: {{ .metadata.name }}}
    spec:
      selector: {statefulset.kubernetes.io/pod-name: {{ .metadata.name }}}
      ports: [{port: 80}]
    {{- end }}
`

// relatedServices scales a StatefulSet whose Pods are not running.
func (s *scope) relatedServices() {
	s.t.Helper()
	scale := func(replicas int, there, gone string) {
		s.apply(fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, labels: {service-per-pod: "@id"}}
spec:
  replicas: %d
  serviceName: none
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: none
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: none}]
`, replicas))
		waitFor(s.t, s.in(services), there, nil)
		waitGone(s.t, s.in(services), gone)
	}
	scale(2, "web-1", "web-2")
	scale(1, "web-0", "web-1")
}

// relatedRequests measures the cost of changing a related object: only the parents that select it are reconciled, and
// only necessary writes are made.
func (s *scope) relatedRequests(op *operator) {
	s.t.Helper()
	if env.cluster == nil {
		return
	}
	op.quiet(time.Second)
	before := mark(s.t)
	s.patch(s.far(), "source", `{"metadata":{"labels":{"other":"yes"}}}`)
	s.patch(s.far(), "unseen", `{"data":{"text":"changed"}}`)
	op.expectRequests("an unwatched field has changed", before, map[string]int{})
	before = mark(s.t)
	s.patch(s.far(), "source", `{"data":{"text":"two"}}`)
	s.waitText("c-copy", "two !")
	op.expectRequests("an object has changed that three parents see", before, map[string]int{"patch configmaps 200": 3})
	before = mark(s.t)
	s.patch(s.things(), "c", `{"metadata":{"labels":{"team":"red"}}}`)
	waitFor(s.t, s.things(), "a", func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedSlice(o.Object, "status", "peers"); len(got) != 3 {
			return fmt.Errorf("peers %v, want three", got)
		}
		return nil
	})
	op.quiet(time.Second)
	for request := range tally(op.requests(before)) {
		if !strings.HasPrefix(request, "patch things/status ") {
			s.t.Errorf("a parent has joined two others, and the operator made the request %s", request)
		}
	}
}

// applySource creates the object to copy, and another one that no parent selects.
func (s *scope) applySource(text string) {
	s.t.Helper()
	for _, name := range []string{"source", "unseen"} {
		s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `, namespace: "@id-far", labels: {shared: "@id"}}, data: {text: "` + text + `"}}`)
	}
}

// far are the ConfigMaps of the other namespace.
func (s *scope) far() dynamic.ResourceInterface {
	return env.client.Resource(configMaps).Namespace(s.id + "-far")
}

// waitText waits until a ConfigMap has that text.
func (s *scope) waitText(name, text string) {
	s.t.Helper()
	waitFor(s.t, s.in(configMaps), name, func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(o.Object, "data", "text"); got != text {
			return fmt.Errorf("%s says %q, want %q", name, got, text)
		}
		return nil
	})
}
