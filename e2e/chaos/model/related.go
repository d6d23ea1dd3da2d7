package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SourceLabel is the label of all sources, and TopicLabel the label that selects some of them.
const (
	SourceLabel = "chaos-source"
	TopicLabel  = "chaos-topic"
)

// Source is a related ConfigMap of parents of Reader.
type Source struct {
	Topic string // "" = none
	Text  string
	Noise int // ignored by all parents
}

// SourceID is the ID of a source.
func SourceID(namespace string, n int) ChildID {
	return ChildID{"configmaps", namespace, fmt.Sprintf("source-%d", n)}
}

// Manifest returns the source as an object.
func (s Source) Manifest(id ChildID) map[string]any {
	labels := map[string]any{SourceLabel: "yes"}
	if s.Topic != "" {
		labels[TopicLabel] = s.Topic
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": id.Name, "namespace": id.Namespace, "labels": labels},
		"data": map[string]any{"text": s.Text, "noise": fmt.Sprint(s.Noise)},
	}
}

const (
	// readMore is added to the template of Reader's child.
	readMore = `  named: {{ join "|" (collect "data.text" .related.named) }}
  alike: {{ join "|" (collect "data.text" .related.alike) }}
`
	selectNamed = `name: source-{{ .spec.count }}`
	selectAlike = `
allNamespaces: true
labelSelector: {matchLabels: {` + TopicLabel + `: "{{ mod (int .spec.count) 2 }}"}}
`
)

// related is spec.related of Reader.
func related() []any {
	entry := func(name, selects string) map[string]any {
		return map[string]any{
			"name": name, "apiVersion": "v1", "kind": "ConfigMap", "select": selects,
			"labelSelector": map[string]any{"matchLabels": map[string]any{SourceLabel: "yes"}},
		}
	}
	alike := entry("alike", selectAlike)
	alike["watchFields"] = []any{"data.text"}
	return []any{entry("named", selectNamed), alike, relatedPods()}
}

// reads adds to data what the parent of Reader reads from its sources.
func (w *World) reads(id ParentID, data map[string]string) {
	count := w.Parents[id].Count
	data["named"] = w.Sources[SourceID(id.Namespace, count)].Text
	var alike []string
	for _, source := range slices.SortedFunc(maps.Keys(w.Sources), func(a, b ChildID) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}) {
		if s := w.Sources[source]; s.Topic == fmt.Sprint(count%2) {
			alike = append(alike, s.Text)
		}
	}
	data["alike"] = strings.Join(alike, "|")
}

// ofSource has a user change a source.
func (d *drawer) ofSource() Action {
	if d.IntN(2) == 0 {
		return d.ofPod()
	}
	id := SourceID(Namespaces[d.IntN(len(Namespaces))], d.IntN(5))
	if _, there := d.world.Sources[id]; there && d.IntN(3) == 0 {
		return Action{Verb: DeleteSource, Child: id}
	}
	return Action{Verb: SetSource, Child: id, Source: Source{
		Topic: []string{"", "0", "1"}[d.IntN(3)], Text: texts[d.IntN(len(texts))], Noise: d.IntN(100),
	}}
}
