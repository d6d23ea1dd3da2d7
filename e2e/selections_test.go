package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// selectingMany is the number of parents that select related objects. make test-attacks uses more than fit into memory.
var selectingMany = flag.Int("selecting-many", 500, "how many parents TestRelatedSelectionMemoryIsLimited has")

// allowedMappings is roughly the number of mappings of selecting that a small parent may use: see
// docs/reference/limits.md.
const allowedMappings = 50

// selecting is a TemplateController whose parents select related objects with that many mappings, each of which selects
// all of them.
func selecting(side string, mappings int) string {
	return fmt.Sprintf(`
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: %s}}}
values: {mappings: %d}
related:
- name: others
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchLabels: {related: "@id"}}
  select: |
    {{- range .values.mappings }}
    - {labelSelector: {matchExpressions: [{key: k, operator: NotIn, values: ["{{ . }}", b, c, d, e, f, g, h, i]}]}}
    {{- end }}
status:
  template: |
    mappings: {{ .values.mappings }}
    seen: {{ len .related.others }}
`, side, mappings)
}

// manyLabelled creates that many parents of a side, which is also the prefix of their names.
func (s *scope) manyLabelled(side string, number int) {
	s.t.Helper()
	err := createMany(s.t.Context(), s.things(), number, func(i int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": s.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": fmt.Sprintf("%s-%d", side, i), "labels": map[string]any{"side": side}},
		}}
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// heap returns the bytes in use on the operator's heap after a garbage collection.
func (v *view) heap() int {
	v.t.Helper()
	code, body := v.get(v.pprof, "/debug/pprof/heap?gc=1&debug=1")
	_, rest, found := strings.Cut(body, "# HeapAlloc = ")
	number, _, _ := strings.Cut(rest, "\n")
	bytes, err := strconv.Atoi(number)
	if code != http.StatusOK || !found || err != nil {
		v.t.Fatalf("pprof answers %d, without HeapAlloc: %v", code, err)
	}
	return bytes
}

// TestRelatedSelectionMemoryIsLimited has many tiny parents select related objects with the maximum number of label
// mappings, and then with five times as many. Each mapping used to take 1.3 KB for the lifetime of its parent.
func TestRelatedSelectionMemoryIsLimited(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	goLimit, limit := shippedMemory(t)
	v, args := newView(t)
	op := startOperatorIn(t, []string{"GOMEMLIMIT=" + goLimit}, operatorOf(t), args...)
	s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: related, labels: {related: "@id"}}}`)
	s.manyLabelled("selects", *selectingMany)
	s.applyController("@id", selecting("selects", 1))
	selected := func(mappings int) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			got, _, _ := unstructured.NestedInt64(o.Object, "status", "mappings")
			seen, _, _ := unstructured.NestedInt64(o.Object, "status", "seen")
			return errors.Join(same("mappings", int64(mappings), got), same("seen", int64(1), seen), ready(o))
		}
	}
	refused := func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "TemplateError") }
	s.waitEach(s.things(), "side=selects", selected(1))
	size := 0
	for _, o := range s.list(s.things(), "side=selects") {
		o.SetManagedFields(nil)
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		size = max(size, len(text))
	}
	// The selection limit of a parent, plus its index entries.
	each := 16<<10 + 4*size + 2<<10
	tenant := int(limit * 9 / 10 / 16)
	most := min(*selectingMany*each, tenant+*selectingMany*2<<10)

	quiet := v.heap()
	expect := func(what string) {
		t.Helper()
		more := v.heap() - quiet
		t.Logf("%s: %d parents of %d bytes take %d KiB more, %d bytes each, of at most %d KiB", what, *selectingMany, size, more>>10, more / *selectingMany, most>>10)
		if more > most {
			t.Errorf("%s take %d KiB more, want at most %d", what, more>>10, most>>10)
		}
	}
	s.patchController(fmt.Sprintf(`{"spec":{"values":{"mappings":%d}}}`, allowedMappings))
	s.waitEach(s.things(), "side=selects", func(o *unstructured.Unstructured) error {
		if *selectingMany*each > tenant && refused(o) == nil {
			return nil
		}
		return selected(allowedMappings)(o)
	})
	expect("as many mappings as may be")
	s.patchController(`{"spec":{"values":{"mappings":256}}}`)
	s.waitEach(s.things(), "side=selects", refused)
	expect("more mappings than may be")
	op.withinMemory(limit)
}

// waitEach waits until check accepts all objects that match a label selector.
func (s *scope) waitEach(in dynamic.ResourceInterface, selector string, check func(*unstructured.Unstructured) error) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		all := s.list(in, selector)
		for i := range all {
			if err := check(&all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
