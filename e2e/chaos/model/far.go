package model

import "fmt"

// Far is a namespace without parents for children of Wide.
const Far = "chaos-far"

// far is the template of these children. Parents of the same name with a count of 0 render the same object.
const far = `apiVersion: v1
kind: ConfigMap
metadata:
  name: wide-{{ if eq (int .spec.count) 0 }}shared{{ else }}{{ .metadata.namespace }}{{ end }}-{{ .metadata.name }}
  namespace: ` + Far + `
data:
  text: {{ .spec.text }}
  edition: "@edition"
`

// far is the child template for another namespace.
func (c Controller) far() map[string]any {
	entry := c.entry(Wide, "far", far)
	entry["scope"], entry["prunePolicy"] = "Cluster", "Delete"
	return entry
}

// farChild is the parent's child in that namespace.
func (w *World) farChild(id ParentID) Child {
	parent, c := w.Parents[id], w.Controllers[Wide]
	shared, place := parent.Count == 0, id.Namespace
	if shared {
		place = "shared"
	}
	return Child{
		ID: ChildID{"configmaps", Far, "wide-" + place + "-" + id.Name}, Shape: Wide, Entry: "far", Parent: id, Far: true, Shared: shared,
		Data: map[string]string{"text": parent.Text, "edition": fmt.Sprint(c.Edition)},
	}
}
