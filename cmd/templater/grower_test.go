package main

import "testing"

// TestNoParentHasAReason names each TemplateController that watches the kind, and why it does not select the object.
func TestNoParentHasAReason(t *testing.T) {
	g := grower{parent: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}}
	const head = "ConfigMap a is not a parent of any TemplateController: "
	if _, err := g.tree(); err == nil || err.Error() != head+"none watches its kind" {
		t.Errorf("got %v", err)
	}
	g.leaveOut("copies", "spec.watch does not select it")
	if _, err := g.tree(); err == nil || err.Error() != head+"TemplateController copies: spec.watch does not select it" {
		t.Errorf("got %v", err)
	}
}
