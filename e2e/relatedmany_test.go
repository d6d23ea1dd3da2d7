package e2e

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// relatedMany is the number of parents and of related objects. make test-related uses 10,000.
var relatedMany = flag.Int("related-many", 100, "how many parents and related objects TestManyRelatedObjectsCauseFewRequests has")

// seesTwo makes each Thing copy the ConfigMap that it names, and one that it selects by label.
const seesTwo = `
watch: {apiVersion: "@group/v1", kind: Thing}
related:
- name: named
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchExpressions: [{key: "@id", operator: Exists}]}
  select: |
    name: s-{{ .metadata.name }}
- name: labeled
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchExpressions: [{key: "@id", operator: Exists}]}
  select: |
    labelSelector: {matchLabels: {"@id": {{ .metadata.name }}}}
children:
- name: copy
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: {{ .metadata.name }}}
    data: {text: "{{ (first .related.named).data.text }} {{ (first .related.labeled).data.text }}"}
status: {readyCondition: ""}
`

// TestManyRelatedObjectsCauseFewRequests counts the requests and the reconciliations caused by related objects.
func TestManyRelatedObjectsCauseFewRequests(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	if err := createMany(t.Context(), s.in(configMaps), *relatedMany, s.sourceOf); err != nil {
		t.Fatal(err)
	}
	s.manyThings(*relatedMany)
	op := startOperator(t, "--log-level=debug")
	began := time.Now()
	s.controller(seesTwo)
	s.waitCopies()
	t.Logf("%d children after %s", *relatedMany, time.Since(began).Round(time.Second))
	op.quiet(time.Second)
	op.Stop()

	before, began := mark(t), time.Now()
	op = startOperator(t, "--log-level=debug")
	eventually(t, soon, func() error {
		if n := len(op.looks()); n < *relatedMany {
			return fmt.Errorf("%d reconciliations, want %d", n, *relatedMany)
		}
		return nil
	})
	t.Logf("reconciled all %d after %s", *relatedMany, time.Since(began).Round(100*time.Millisecond))
	op.quiet(time.Second)
	for request, times := range tally(op.requests(before)) {
		if verb, _, _ := strings.Cut(request, " "); verb != "list" && verb != "watch" && !learnsKinds(request, times) {
			t.Errorf("a restart: the operator made the request %s %d times", request, times)
		}
	}
	looks := len(op.looks())
	before = mark(t)
	s.patch(s.in(configMaps), "s-p-7", `{"data":{"text":"new"}}`)
	s.waitText("p-7", "new new")
	op.expectRequests("a related object has changed", before, map[string]int{"patch configmaps 200": 1})
	if n := len(op.looks()) - looks; n == 0 || n > 3 {
		t.Errorf("%d reconciliations for one change, which the child's own follows at most", n)
	}
}

// sourceOf is the i-th related object.
func (s *scope) sourceOf(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": "old"},
		"metadata": map[string]any{"name": fmt.Sprint("s-p-", i), "labels": map[string]any{s.id: fmt.Sprint("p-", i)}},
	}}
}

// waitCopies waits until each parent has its child.
func (s *scope) waitCopies() {
	s.t.Helper()
	eventually(s.t, 3*soon, func() error {
		o, err := env.client.Resource(controllers).Get(s.t.Context(), s.id, getOptions)
		if err != nil {
			return err
		}
		if n, _, _ := unstructured.NestedInt64(o.Object, "status", "children", "total"); n != int64(*relatedMany) {
			err = fmt.Errorf("%d children, want %d", n, *relatedMany)
		}
		return errors.Join(err, condition(o, "Ready", "True", ""))
	})
}
