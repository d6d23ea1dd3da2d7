package e2e

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const helmsDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/managed-by: Helm, helm.sh/chart: web-1.0.0}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: default}
spec:
  replicas: 1
  revisionHistoryLimit: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: none}
      containers: [{name: main, image: "busybox:1.36"}]
`

const adopting = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: web
  adoption: IfConsented
  template: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      replicas: 1
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          nodeSelector: {disk: none}
          containers: [{name: main, image: "busybox:1.36"}]
`

// TestHelmsDeploymentIsAdoptedWithoutRestart compares the UID and spec of the Deployment, and counts its ReplicaSets.
func TestHelmsDeploymentIsAdoptedWithoutRestart(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(helmsDeployment), &o.Object); err != nil {
		t.Fatal(err)
	}
	if _, err := s.in(deployments).Create(t.Context(), o, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	before := waitFor(t, s.in(deployments), "web", func(o *unstructured.Unstructured) error {
		if o.GetAnnotations()["deployment.kubernetes.io/revision"] == "" {
			return errors.New("it has no ReplicaSet")
		}
		return settledDeployment(o)
	})
	s.controller(adopting)
	s.thing("web", "{}")
	parent := waitFor(t, s.things(), "web", func(o *unstructured.Unstructured) error {
		return condition(o, "Ready", "False", "ChildConflict")
	})
	s.patch(s.in(deployments), "web", fmt.Sprintf(`{"metadata":{"annotations":{"templater.dev/adopt":"TemplateController/@id/%s"}}}`, parent.GetUID()))
	s.patch(s.things(), "web", `{"metadata":{"annotations":{"templater.dev/reconcile-at":"now"}}}`)
	after := waitFor(t, s.in(deployments), "web", func(o *unstructured.Unstructured) error {
		if metav1.GetControllerOf(o) == nil || o.GetAnnotations()["templater.dev/adopt"] != "" {
			return errors.New("it is not adopted")
		}
		return settledDeployment(o)
	})
	if after.GetUID() != before.GetUID() {
		t.Errorf("UID %s, want %s", after.GetUID(), before.GetUID())
	}
	if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	if limit, _, _ := unstructured.NestedInt64(after.Object, "spec", "revisionHistoryLimit"); limit != 3 {
		t.Errorf("revisionHistoryLimit is %d, want 3: the template does not set it", limit)
	}
	sets, err := s.in(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		t.Errorf("%d ReplicaSets, %v; want 1", len(sets.Items), err)
	}
	s.delete(s.things(), "web")
	waitGone(t, s.in(deployments), "web")
}
