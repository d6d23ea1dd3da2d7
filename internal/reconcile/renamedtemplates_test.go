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

// growing renders one more object each time, depending on the observed objects.
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

func TestRenamedTemplateKeepsObjects(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			c := newCluster(t)
			before := with(t, growing, "STRATEGY", strategy, "MOST", "4")
			c.KubectlApply(before)
			c.KubectlApply(app)
			c.Run()
			for range 5 {
				c.Deliver()
				c.Reconcile("apps", "one")
			}
			if c.Find("configmaps", "m-3") == nil {
				t.Fatal("not all objects are there")
			}
			c.Deliver()
			c.KubectlApply(strings.ReplaceAll(strings.ReplaceAll(before, "name: maps", "name: files"), ".maps", ".files"))
			verb := map[bool]string{true: "update", false: "mark"}[strategy == "Apply"]
			var want []string
			for i := range 4 {
				want = append(want, fmt.Sprintf("%s configmaps m-%d", verb, i))
			}
			wantRequests(t, "another name", c.Run(), want...)
			if got := c.Find("configmaps", "m-3").GetLabels()[v1.LabelChild]; got != "files" {
				t.Errorf("label %s is %q", v1.LabelChild, got)
			}
			_, again := c.Reconcile("apps", "one")
			wantRequests(t, "again", again)
			if got := c.Condition("apps", "one", "Ready"); got != "True Ready: all children are ready: 4" {
				t.Errorf("ready condition %q", got)
			}
		})
	}
}

func TestRenamedTemplateWithManyObjectsKeepsThem(t *testing.T) {
	const many = 3 * 8 // more than maxRenders in package child
	c := newCluster(t)
	before := with(t, growing, "STRATEGY", "Recreate", "MOST", fmt.Sprint(many))
	c.KubectlApply(before)
	c.KubectlApply(app)
	for range many + 1 {
		c.Run()
		c.Deliver()
		c.Reconcile("apps", "one")
	}
	c.Deliver()
	c.KubectlApply(strings.ReplaceAll(strings.ReplaceAll(before, "name: maps", "name: files"), ".maps", ".files"))
	requests := c.Run()
	for range 3 {
		result, more := c.Reconcile("apps", "one")
		if requests = append(requests, more...); len(more) == 0 && result.Retry == problem.RetryNow {
			t.Error("the reconciliation asks for another one, and has done nothing")
		}
	}
	for _, request := range requests {
		if !strings.HasPrefix(request, "mark ") && !strings.HasPrefix(request, "status ") {
			t.Errorf("request %q, want marks alone", request)
		}
	}
	if got := c.Condition("apps", "one", "Ready"); got != fmt.Sprintf("True Ready: all children are ready: %d", many) {
		t.Errorf("ready condition %q", got)
	}
}

func TestPolicyOfDesiringTemplateApplies(t *testing.T) {
	two := with(t, apps, "  status:\n", "  - name: more\n    updateStrategy: {type: OnDelete}\n    deletionPolicy: Orphan\n    prunePolicy: Orphan\n    template: |\n      {{ range .spec.more | default list }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: other}\n      {{ end }}\n  status:\n")
	c := newCluster(t)
	c.KubectlApply(two)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(with(t, app, "names: [a, b]", "names: [a], more: [b]"))
	wantRequests(t, "b moves to an entry under OnDelete", c.Run(), "mark configmaps b", "status apps one")
	b := c.Find("configmaps", "b")
	if b.GetLabels()[v1.LabelChild] != "more" || b.GetAnnotations()[v1.AnnotationPrune] != "Orphan" || len(b.GetOwnerReferences()) > 0 {
		t.Errorf("metadata is %v, want that of the entry", b.Object["metadata"])
	}
	c.Deliver()
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "nobody wants b, whose entry keeps it", c.Run(), "status apps one")
}

// A child template that cannot be rendered may still desire the object.
func TestObjectOfFailingTemplateIsNotTakenOver(t *testing.T) {
	two := with(t, apps, "  status:\n", "  - name: more\n    template: |\n      {{ range .spec.more | default list }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: other}\n      {{ end }}\n  status:\n")
	for why, row := range map[string]struct{ before, edit string }{
		"its template fails":                 {two, "more: [b, c]"}, // .spec.text is missing
		"what it yields cannot be an object": {with(t, two, "metadata: {name: {{ . }}}\n      data: {text: {{ $.spec.text }}}", "metadata: {name: {{ . }}, labels: {text: {{ $.spec.text }}}}"), "text: 5, more: [b, c]"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(row.before)
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.KubectlApply(with(t, app, "text: hello", row.edit))
			wantRequests(t, "maps fails", c.Run(), "create configmaps c", "status apps one")
		})
	}
}

func TestDuplicateObjectNamesAreNotApplied(t *testing.T) {
	const second = "  - name: more\n    template: |\n      {{ range .spec.more | default list }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: other}\n      {{ end }}\n  status:\n"
	for why, change := range map[string]string{
		"in one entry":    with(t, app, "[a, b], text: hello", "[a, b, b, b, c], text: bye"),
		"in two entries":  with(t, app, "[a, b], text: hello", "[a, b, c], text: bye, more: [b]"),
		"in both of them": with(t, app, "[a, b], text: hello", "[a, b, b, c], text: bye, more: [b]"),
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, apps, "  status:\n", second))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			before := c.Find("configmaps", "b").DeepCopy()
			c.KubectlApply(change)
			wantRequests(t, "one name twice", c.Run(), "update configmaps a", "create configmaps c", "status apps one")
			if diff := cmp.Diff(before, c.Find("configmaps", "b")); diff != "" {
				t.Errorf("the object changed:\n%s", diff)
			}
			if got := c.Condition("apps", "one", "Ready"); !strings.Contains(got, "ConfigMap ns/b is also rendered by children[maps]:3, so neither") {
				t.Errorf("ready condition is %q", got)
			}
			c.Deliver()
			_, again := c.Reconcile("apps", "one")
			wantRequests(t, "again", again)
		})
	}
	t.Run("at first", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(with(t, apps, "  status:\n", second))
		c.KubectlApply(with(t, app, "[a, b], text: hello", "[a, b], text: hello, more: [b]"))
		wantRequests(t, "one name twice", c.Run(), "create configmaps a", "status apps one")
	})
}

func TestObjectNoLongerRenderedIsDeleted(t *testing.T) {
	shy := with(t, apps, "{{ range .spec.names }}", "{{ if not .observed.maps }}{{ range .spec.names }}", "{{ end }}\n", "{{ end }}{{ end }}\n", "name: {{ . }}", "name: {{ . }}-1")
	c := newCluster(t)
	c.restless = true
	c.KubectlApply(with(t, apps, "name: {{ . }}", "name: {{ . }}-1"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(strings.ReplaceAll(with(t, shy, "- name: maps", "- name: files"), ".maps", ".files"))
	wantRequests(t, "renamed", c.Run()[:2], "delete configmaps a-1", "delete configmaps b-1")
}

// Terminating objects keep their old label.
func TestStatusReadsObjectsUnderNewTemplateName(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.End(configMap("a"), metav1.DeletePropagationBackground)
	c.Deliver()
	c.Run()
	c.KubectlApply(with(t, apps, "name: maps", "name: files", ".children.maps", ".children.files"))
	wantRequests(t, "another name", c.Run(), "update configmaps b")
	if got, _, _ := unstructured.NestedInt64(c.Find("apps", "one").Object, "status", "count"); got != 2 {
		t.Errorf("the status has seen %d objects, want 2", got)
	}
}
