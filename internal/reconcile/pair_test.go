package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// growing makes one object more each time, and goes by what it has made before.
const growing = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: maps
    updateStrategy: {type: STRATEGY}
    template: |
      {{ range until (min MOST (add 1 (len .observed.maps)) | int) }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: m-{{ . }}}
      data: {text: x}
      {{ end }}
  status:
    template: |
      count: {{ len .children.maps }}
`

func TestRenamedEntryKeepsItsObjects(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			c := newCluster(t)
			before := with(t, growing, "STRATEGY", strategy, "MOST", "4")
			c.apply(before)
			c.apply(app)
			c.run()
			for range 5 {
				c.deliver()
				c.pass("apps", "one")
			}
			if c.get("configmaps", "m-3") == nil {
				t.Fatal("not all objects are there")
			}
			c.deliver()
			c.apply(strings.ReplaceAll(strings.ReplaceAll(before, "name: maps", "name: files"), ".maps", ".files"))
			verb := map[bool]string{true: "update", false: "mark"}[strategy == "Apply"]
			var want []string
			for i := range 4 {
				want = append(want, fmt.Sprintf("%s configmaps m-%d", verb, i))
			}
			wantRequests(t, "another name", c.run(), want...)
			if got := c.get("configmaps", "m-3").GetLabels()[v1.LabelChild]; got != "files" {
				t.Errorf("label %s is %q", v1.LabelChild, got)
			}
			_, again := c.pass("apps", "one")
			wantRequests(t, "again", again)
			if got := c.condition("apps", "one", "Ready"); got != "True Ready: all children are ready: 4" {
				t.Errorf("ready condition %q", got)
			}
		})
	}
}

func TestRenamedEntryWithALongHistoryKeepsItsObjects(t *testing.T) {
	const many = 3 * 8 // more than a pass looks, whatever that is
	c := newCluster(t)
	before := with(t, growing, "STRATEGY", "Recreate", "MOST", fmt.Sprint(many))
	c.apply(before)
	c.apply(app)
	for range many + 1 {
		c.run()
		c.deliver()
		c.pass("apps", "one")
	}
	c.deliver()
	c.apply(strings.ReplaceAll(strings.ReplaceAll(before, "name: maps", "name: files"), ".maps", ".files"))
	requests := c.run()
	for range 3 {
		result, more := c.pass("apps", "one")
		if requests = append(requests, more...); len(more) == 0 && result.Retry == problem.RetryNow {
			t.Error("the pass asks for another one, and has done nothing")
		}
	}
	for _, request := range requests {
		if !strings.HasPrefix(request, "mark ") && !strings.HasPrefix(request, "status ") {
			t.Errorf("request %q, want marks alone", request)
		}
	}
	if got := c.condition("apps", "one", "Ready"); got != fmt.Sprintf("True Ready: all children are ready: %d", many) {
		t.Errorf("ready condition %q", got)
	}
}

func TestPolicyIsThatOfTheEntryThatWantsTheObject(t *testing.T) {
	two := with(t, apps, "  status:\n", "  - name: more\n    updateStrategy: {type: OnDelete}\n    deletionPolicy: Orphan\n    prunePolicy: Orphan\n    template: |\n      {{ range .spec.more | default list }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: other}\n      {{ end }}\n  status:\n")
	c := newCluster(t)
	c.apply(two)
	c.apply(app)
	c.run()
	c.deliver()
	c.apply(with(t, app, "names: [a, b]", "names: [a], more: [b]"))
	wantRequests(t, "b moves to an entry under OnDelete", c.run(), "mark configmaps b", "status apps one")
	b := c.get("configmaps", "b")
	if b.GetLabels()[v1.LabelChild] != "more" || b.GetAnnotations()[v1.AnnotationPrune] != "Orphan" || len(b.GetOwnerReferences()) > 0 {
		t.Errorf("metadata is %v, want that of the entry", b.Object["metadata"])
	}
	c.deliver()
	c.apply(with(t, app, "[a, b]", "[a]"))
	wantRequests(t, "nobody wants b, whose entry keeps it", c.run(), "status apps one")
}

// An entry that cannot be rendered may yield the object as before.
func TestObjectOfAnEntryThatFailsIsNotTakenByAnother(t *testing.T) {
	two := with(t, apps, "  status:\n", "  - name: more\n    template: |\n      {{ range .spec.more | default list }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: other}\n      {{ end }}\n  status:\n")
	for why, row := range map[string]struct{ before, edit string }{
		"its template fails":                 {two, "more: [b, c]"}, // .spec.text is missing
		"what it yields cannot be an object": {with(t, two, "metadata: {name: {{ . }}}\n      data: {text: {{ $.spec.text }}}", "metadata: {name: {{ . }}, labels: {text: {{ $.spec.text }}}}"), "text: 5, more: [b, c]"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(row.before)
			c.apply(app)
			c.run()
			c.deliver()
			c.apply(with(t, app, "text: hello", row.edit))
			wantRequests(t, "maps fails", c.run(), "create configmaps c", "status apps one")
		})
	}
}

func TestNoneOfTwoDocumentsWithOneNameIsApplied(t *testing.T) {
	const second = "  - name: more\n    template: |\n      {{ range .spec.more | default list }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: other}\n      {{ end }}\n  status:\n"
	for why, change := range map[string]string{
		"in one entry":    with(t, app, "[a, b], text: hello", "[a, b, b, b, c], text: bye"),
		"in two entries":  with(t, app, "[a, b], text: hello", "[a, b, c], text: bye, more: [b]"),
		"in both of them": with(t, app, "[a, b], text: hello", "[a, b, b, c], text: bye, more: [b]"),
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(with(t, apps, "  status:\n", second))
			c.apply(app)
			c.run()
			c.deliver()
			before := c.get("configmaps", "b").DeepCopy()
			c.apply(change)
			wantRequests(t, "one name twice", c.run(), "update configmaps a", "create configmaps c", "status apps one")
			if diff := cmp.Diff(before, c.get("configmaps", "b")); diff != "" {
				t.Errorf("the object changed:\n%s", diff)
			}
			if got := c.condition("apps", "one", "Ready"); !strings.Contains(got, "ConfigMap ns/b is also rendered by children[maps]:3, so neither") {
				t.Errorf("ready condition is %q", got)
			}
			c.deliver()
			_, again := c.pass("apps", "one")
			wantRequests(t, "again", again)
		})
	}
	t.Run("at first", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, apps, "  status:\n", second))
		c.apply(with(t, app, "[a, b], text: hello", "[a, b], text: hello, more: [b]"))
		wantRequests(t, "one name twice", c.run(), "create configmaps a", "status apps one")
	})
}

func TestObjectThatATemplateDropsOnceItSeesItGoes(t *testing.T) {
	shy := with(t, apps, "{{ range .spec.names }}", "{{ if not .observed.maps }}{{ range .spec.names }}", "{{ end }}\n", "{{ end }}{{ end }}\n", "name: {{ . }}", "name: {{ . }}-1")
	c := newCluster(t)
	c.restless = true
	c.apply(with(t, apps, "name: {{ . }}", "name: {{ . }}-1"))
	c.apply(app)
	c.run()
	c.deliver()
	c.apply(strings.ReplaceAll(with(t, shy, "- name: maps", "- name: files"), ".maps", ".files"))
	wantRequests(t, "renamed", c.run()[:2], "delete configmaps a-1", "delete configmaps b-1")
}

// What is being deleted keeps its old label.
func TestStatusSeesObjectsUnderTheNewNameOfTheirEntry(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.edit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.End(configMap("a"), metav1.DeletePropagationBackground)
	c.deliver()
	c.run()
	c.apply(with(t, apps, "name: maps", "name: files", ".children.maps", ".children.files"))
	wantRequests(t, "another name", c.run(), "update configmaps b")
	if got, _, _ := unstructured.NestedInt64(c.get("apps", "one").Object, "status", "count"); got != 2 {
		t.Errorf("the status has seen %d objects, want 2", got)
	}
}
