package workload

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Manager is the field manager of the task's writes.
func (t Task) Manager() string { return "templater/" + t.Name }

// ChildName is the name of a parent's i-th child.
func (t Task) ChildName(parent string, i int) string {
	return fmt.Sprintf("%s-%s-%d", parent, t.Name, i)
}

// Child is a child as the operator would apply it, to create it if create is true.
func (t Task) Child(parent *unstructured.Unstructured, i int, create bool) map[string]any {
	name := t.ChildName(parent.GetName(), i)
	color, _, _ := unstructured.NestedString(parent.Object, "spec", "color")
	applied := hash(name, color, t.Tint)
	metadata := map[string]any{
		"name": name, "namespace": parent.GetNamespace(),
		"labels": map[string]any{
			"app.kubernetes.io/managed-by": "templater",
			"templater.dev/child":          entry,
			"templater.dev/controller":     t.Name,
			"templater.dev/parent-uid":     string(parent.GetUID()),
		},
		"annotations": map[string]any{"templater.dev/applied-hash": applied, "templater.dev/depth": "1", "templater.dev/seal": seal(applied, name, string(parent.GetUID()))},
		"ownerReferences": []any{map[string]any{
			"apiVersion": parent.GetAPIVersion(), "kind": parent.GetKind(), "name": parent.GetName(), "uid": string(parent.GetUID()),
			"controller": true, "blockOwnerDeletion": true,
		}},
	}
	if create {
		metadata["resourceVersion"] = "1"
	}
	content := map[string]any{"apiVersion": "v1", "kind": t.ChildKind, "metadata": metadata}
	if t.ChildKind == Pod {
		content["spec"] = podSpec(color)
		return content
	}
	parentText, _, _ := unstructured.NestedString(parent.Object, "spec", "text")
	content["data"] = map[string]any{"color": color, "text": parentText, "tint": t.Tint}
	return content
}

func podSpec(color string) map[string]any {
	return map[string]any{
		"nodeName":                      node,
		"terminationGracePeriodSeconds": 0,
		"containers": []any{map[string]any{
			"name": "main", "image": "busybox:1.36",
			"env": []any{map[string]any{"name": "COLOR", "value": color}},
		}},
	}
}

// hash has the length of the operator's.
func hash(parts ...string) string {
	sum := fnv.New128a()
	for _, part := range parts {
		_, _ = sum.Write([]byte(part)) // never fails
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// seal has the form and length of the operator's: a key's number, the format, the serial, a MAC, no policies, the hash,
// and the name of the child template.
func seal(applied string, parts ...string) string {
	return fmt.Sprintf("1700000000:3:%s:%s::%s:%s", strconv.FormatInt(time.Now().UnixMilli(), 36), hash(parts...)[:22], applied, entry)
}

// Status is a parent with its status as the operator would apply it. phases are the phases of its Pods, and nil for
// ConfigMaps.
func (t Task) Status(parent *unstructured.Unstructured, phases []string) map[string]any {
	color, _, _ := unstructured.NestedString(parent.Object, "spec", "color")
	names := make([]any, t.Children)
	for i := range names {
		names[i] = t.ChildName(parent.GetName(), i)
	}
	status := map[string]any{"color": color, "children": names, "conditions": []any{t.condition(parent, phases)}}
	if phases != nil {
		list := make([]any, len(phases))
		for i, phase := range phases {
			list[i] = phase
		}
		status["phases"] = list
	}
	return map[string]any{
		"apiVersion": parent.GetAPIVersion(), "kind": parent.GetKind(),
		"metadata": map[string]any{"name": parent.GetName(), "namespace": parent.GetNamespace()},
		"status":   status,
	}
}

func (t Task) condition(parent *unstructured.Unstructured, phases []string) map[string]any {
	condition := map[string]any{
		"type": t.ReadyCondition(), "status": "True", "reason": "Ready",
		"message":            fmt.Sprintf("all children are ready: %d", t.Children),
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		"observedGeneration": parent.GetGeneration(),
	}
	ready := 0
	for _, phase := range phases {
		if phase == "Running" {
			ready++
		}
	}
	if phases != nil && ready < t.Children {
		condition["status"], condition["reason"] = "False", "Progressing"
		condition["message"] = fmt.Sprintf("%d of %d children are ready", ready, t.Children)
	}
	return condition
}
