package workload

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Controllers is the resource that serves TemplateControllers.
var Controllers = schema.GroupVersionResource{Group: "templater.dev", Version: "v1", Resource: "templatecontrollers"}

// node is the node that kwok simulates.
const node = "node1"

// entry is the name of the only child template.
const entry = "main"

const configMapTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.metadata.name }}-@task-@number
data:
  color: {{ $.spec.color }}
  text: {{ $.spec.text }}
  tint: {{ $.values.tint }}
`

// The Pod is assigned to its node: the scheduler would place only some 60 Pods a second and so hide the speed of the
// contenders.
const podTemplate = `apiVersion: v1
kind: Pod
metadata:
  name: {{ $.metadata.name }}-@task-@number
spec:
  nodeName: ` + node + `
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: busybox:1.36
    env:
    - {name: COLOR, value: "{{ $.spec.color }}"}
`

const statusTemplate = `color: {{ .spec.color }}
children: {{ collect "metadata.name" .children.main | toJson }}
`

const phasesTemplate = `phases: {{ collect "status.phase" .children.main | toJson }}
`

// Controller is the TemplateController that makes the operator perform the task.
func (t Task) Controller() *unstructured.Unstructured {
	child := map[string]any{"name": entry, "template": t.childTemplate()}
	if t.ChildKind == Pod {
		child["updateStrategy"] = map[string]any{"type": "Recreate"}
	}
	status := map[string]any{"readyCondition": t.ReadyCondition()}
	if !t.NoStatus {
		status["template"] = t.statusTemplate()
	}
	spec := map[string]any{
		"watch":    map[string]any{"apiVersion": Group + "/v1", "kind": t.Kind},
		"values":   map[string]any{"tint": t.Tint},
		"children": []any{child},
		"status":   status,
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "templater.dev/v1", "kind": "TemplateController",
		"metadata": map[string]any{"name": t.Name, "labels": map[string]any{"bench": "templater"}},
		"spec":     spec,
	}}
}

// childTemplate has a loop only for more than one child, as a user would write it.
func (t Task) childTemplate() string {
	template := strings.ReplaceAll(configMapTemplate, "@task", t.Name)
	if t.ChildKind == Pod {
		template = strings.ReplaceAll(podTemplate, "@task", t.Name)
	}
	if t.Children == 1 {
		return strings.ReplaceAll(template, "@number", "0")
	}
	template = strings.ReplaceAll(template, "@number", "{{ $i }}")
	return fmt.Sprintf("{{- range $i := until %d }}\n---\n%s{{- end }}\n", t.Children, template)
}

func (t Task) statusTemplate() string {
	if t.ChildKind == Pod {
		return statusTemplate + phasesTemplate
	}
	return statusTemplate
}
