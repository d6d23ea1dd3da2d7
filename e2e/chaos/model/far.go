package model

import "fmt"

// Far is a namespace without parents, where Wide has children.
const Far = "chaos-far"

// far is the template of those. Parents of one name whose count is 0 want the same object.
const far = `apiVersion: v1
kind: ConfigMap
metadata:
  name: wide-{{ if eq (int .spec.count) 0 }}shared{{ else }}{{ .metadata.namespace }}{{ end }}-{{ .metadata.name }}
  namespace: ` + Far + `
data:
  text: {{ .spec.text }}
  edition: "@edition"
`

// far is the entry with children in another namespace.
func (c Controller) far() map[string]any {
	entry := c.entry(Wide, "far", far)
	entry["scope"], entry["prunePolicy"] = "Cluster", "Delete"
	return entry
}

// farChild is the child of the parent there.
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
