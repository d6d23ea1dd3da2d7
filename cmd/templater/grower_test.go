package main

import "testing"

// TestTreeExplainsWhyObjectIsNotParent checks that the error names each TemplateController that watches the kind, and why it does not select the object.
func TestTreeExplainsWhyObjectIsNotParent(t *testing.T) {
	b := treeBuilder{parent: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}}
	const head = "ConfigMap a is not a parent of any TemplateController: "
	if _, err := b.tree(); err == nil || err.Error() != head+"no TemplateController watches its kind" {
		t.Errorf("got %v", err)
	}
	b.notParent("copies", "spec.watch does not select it")
	if _, err := b.tree(); err == nil || err.Error() != head+"TemplateController copies: spec.watch does not select it" {
		t.Errorf("got %v", err)
	}
}
