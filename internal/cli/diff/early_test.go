package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestKindsNotCreatedByEditAreStillDryRun has a definition that is there and changes, and an object that only looks like one: neither keeps the server from
// being asked.
func TestKindsNotCreatedByEditAreStillDryRun(t *testing.T) {
	const kinds = configMap + `
  - name: kind
    scope: Cluster
    template: |
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: widgets.example.org, labels: {of: OF}}
      spec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets}}
  - name: like
    template: |
      {apiVersion: example.org/v1, kind: Likeness, metadata: {name: like, labels: {of: OF}}, spec: {group: example.org, names: {kind: Gadget}}}
`
	const more = `  - name: more
    template: |
      {apiVersion: example.org/v1, kind: Widget, metadata: {name: widget}}
      ---
      {apiVersion: example.org/v1, kind: Gadget, metadata: {name: gadget}}
`
	c := newCluster(t)
	c.missing = []schema.GroupKind{{Group: "example.org", Kind: "Gadget"}}
	c.serve(strings.ReplaceAll(kinds, "OF", "old"), nil, one)
	_, got := c.compare(strings.ReplaceAll(kinds, "OF", "new") + more)
	want := []string{
		"one status", "  update CustomResourceDefinition widgets.example.org of kind",
		"  create Gadget gadget of more: the cluster does not have kind Gadget in example.org/v1: install it first", "  update Likeness like of like", "  create Widget widget of more",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"create widgets default/widget", "update customresourcedefinitions /widgets.example.org", "update likenesses default/like"}, c.tried); diff != "" {
		t.Errorf("what the server has tried (-want +got):\n%s", diff)
	}
	delete(c.objects, schema.GroupResource{Group: "example.org", Resource: "likenesses"})
	if _, got = c.compare(strings.ReplaceAll(kinds, "OF", "new") + more); !slices.Contains(got, "  create Gadget gadget of more: the cluster does not have kind Gadget in example.org/v1: install it first") {
		t.Errorf("with another one of such: %q", got)
	}
}

// TestObjectsOfKindsAndNamespacesCreatedByEdit has children in a Namespace and of a kind that are created by the same edit: the server cannot try them, and
// that they are not there yet is no refusal. A kind that nobody makes is one.
func TestObjectsOfKindsAndNamespacesCreatedByEdit(t *testing.T) {
	c := newCluster(t)
	c.missing = []schema.GroupKind{{Group: "example.org", Kind: "Widget"}, {Group: "example.org", Kind: "Gadget"}}
	c.serve(configMap, nil, one)
	_, got := c.compare(configMap + `
  - name: kind
    scope: Cluster
    template: |
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: widgets.example.org}
      spec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets}}
  - name: home
    scope: Cluster
    template: |
      {apiVersion: v1, kind: Namespace, metadata: {name: home}}
  - name: others
    scope: Cluster
    template: |
      {apiVersion: example.org/v1, kind: Widget, metadata: {name: a, namespace: default}}
      ---
      {apiVersion: example.org/v1, kind: Gadget, metadata: {name: b, namespace: default}}
      ---
      {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: home}}
`)
	want := []string{
		"one status", "  create ConfigMap c of others", "  create CustomResourceDefinition widgets.example.org of kind",
		"  create Gadget b of others: the cluster does not have kind Gadget in example.org/v1: install it first", "  create Namespace home of home", "  create Widget a of others",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"create customresourcedefinitions /widgets.example.org", "create namespaces /home"}, c.tried); diff != "" {
		t.Errorf("what the server has tried (-want +got):\n%s", diff)
	}
}
