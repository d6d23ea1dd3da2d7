package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	rolledPods = 10
	mostDown   = 2 // a quarter, rounded down
)

// tenPods are replaced a few at a time. With spec.node, they can never be scheduled.
const tenPods = watchThings + `
children:
- name: pods
  updateStrategy: {type: Recreate, rollingUpdate: {maxUnavailable: 25%}}
  template: |
    {{ range until 10 }}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: "{{ $.metadata.name }}-{{ . }}"}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {{ $.spec.node | toJson }}
      containers: [{name: main, image: "busybox:1.36", args: [sleep, "1000"], env: [{name: COLOR, value: {{ $.spec.color }}}]}]
    {{ end }}
`

func TestRolloutReplacesFewPodsAtATime(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.controller(tenPods)
	s.thing("p", `{color: red, node: {}}`)
	waitFor(t, s.things(), "p", ready)
	events := record(t, s.in(pods), "templater.dev/child=pods")
	up := map[string]bool{}
	for i := range rolledPods {
		up[fmt.Sprint("p-", i)] = true
	}

	s.thing("p", `{color: blue, node: {is: none}}`)
	halted := fmt.Sprintf("children[pods]: rollout: 2 of 10 are up to date, waiting for Pod %s/p-0: pending (Unschedulable); Pod %s/p-1: pending (Unschedulable); 8 of 10 children are ready", s.ns, s.ns)
	waitFor(t, s.things(), "p", func(o *unstructured.Unstructured) error {
		return same("message", halted, message(o, "Ready"))
	})

	s.thing("p", `{color: green, node: {}}`)
	waitFor(t, s.things(), "p", ready)
	list, err := s.in(pods).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		if color := colorOf(&o); color != "green" {
			t.Errorf("Pod %s is %s", o.GetName(), color)
		}
	}
	blue := 0
	for _, e := range events.all() {
		o := e.Object.(*unstructured.Unstructured)
		if e.Type == watch.Added && colorOf(o) == "blue" {
			blue++
		}
		up[o.GetName()] = e.Type != watch.Deleted && o.GetDeletionTimestamp() == nil && condition(o, "Ready", "True", "") == nil
		down := 0
		for _, is := range up {
			if !is {
				down++
			}
		}
		if down > mostDown {
			t.Errorf("%s %s: %d Pods are unavailable", e.Type, o.GetName(), down)
		}
	}
	if blue != mostDown {
		t.Errorf("%d Pods were made of the broken template, want %d", blue, mostDown)
	}
}

// colorOf returns the color of a Pod of tenPods.
func colorOf(pod *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	color, _ := env[0].(map[string]any)["value"].(string)
	return color
}
