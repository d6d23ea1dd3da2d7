package model

import "fmt"

// PodID is the ID of a Pod whose log parents of Reader show.
func PodID(namespace string, n int) ChildID {
	return ChildID{"pods", namespace, fmt.Sprintf("pod-%d", n)}
}

// Pod returns such a Pod, assigned to node.
func Pod(id ChildID, node string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": id.Name, "namespace": id.Namespace, "labels": map[string]any{SourceLabel: "yes"}},
		"spec": map[string]any{
			"nodeName": node, "automountServiceAccountToken": false, "terminationGracePeriodSeconds": int64(0),
			"containers": []any{map[string]any{"name": "main", "image": "busybox"}},
		},
	}
}

const (
	selectTold = `name: pod-{{ .spec.count }}`
	// told is the status template of Reader: the log of its Pod.
	told = `{{ $log := "" }}
{{ range .related.told }}{{ $log = index (logs .) "main" | default "" }}{{ end }}
text: {{ $log }}
`
)

// relatedPods is the entry of spec.related for it.
func relatedPods() map[string]any {
	return map[string]any{
		"name": "told", "apiVersion": "v1", "kind": "Pod", "select": selectTold,
		"labelSelector": map[string]any{"matchLabels": map[string]any{SourceLabel: "yes"}},
		"watchFields":   []any{"status.phase"},
		"logs":          map[string]any{"tailLines": int64(5), "limitBytes": int64(1000)},
	}
}

// Told is the log that the parent of Reader shows.
func (w *World) Told(id ParentID) string { return w.Logs[PodID(id.Namespace, w.Parents[id].Count)] }

// ofPod has a user run or delete a Pod, preferably one that a parent selects. All Pods have different logs.
func (d *drawer) ofPod() Action {
	id := PodID(Namespaces[d.IntN(len(Namespaces))], d.IntN(5))
	if there := d.there(); len(there) > 0 {
		parent := there[d.IntN(len(there))]
		id = PodID(parent.Namespace, d.world.Parents[parent].Count)
	}
	if _, there := d.world.Logs[id]; there && d.IntN(3) == 0 {
		return Action{Verb: DeletePod, Child: id}
	}
	text := fmt.Sprintf("%s %d", texts[d.IntN(len(texts))], d.IntN(1_000_000))
	if d.IntN(2) == 0 {
		text = d.world.Secret + text
	}
	return Action{Verb: SetPod, Child: id, Text: text}
}
