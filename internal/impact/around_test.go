package impact

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/simulate"
	"github.com/templater-dev/templater/internal/snapshot"
)

// change changes objects that the cluster has.
func (c *cluster) change(resource string, change func(content map[string]any)) {
	c.t.Helper()
	for gr, all := range c.objects {
		for i, o := range all {
			if gr.Resource != resource {
				continue
			}
			content := o.Content()
			change(content)
			changed, err := object.From(content)
			if err != nil {
				c.t.Fatal(err)
			}
			all[i] = changed
		}
	}
}

// TestWhatIsBeingDeleted is left out: parents, and children of parents that stay.
func TestWhatIsBeingDeleted(t *testing.T) {
	edited := strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!")
	deleting := func(content map[string]any) {
		if metadataText(content, "name") == "one" {
			mapping(content["metadata"])["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}
	}
	c := newCluster(t)
	c.serve(configMap, nil, one, two)
	c.change("apps", deleting)
	if report, got := c.compare(edited); !slices.Equal(got, []string{"two", "  update ConfigMap two of map"}) || report.Summary.Parents != 1 {
		t.Errorf("a parent: %q of %d", got, report.Summary.Parents)
	}
	c = newCluster(t)
	c.serve(configMap, nil, one, two)
	c.change("configmaps", deleting)
	if _, got := c.compare(edited); !slices.Equal(got, []string{"one", "  create ConfigMap one of map", "two", "  update ConfigMap two of map"}) {
		t.Errorf("a child, which comes again: %q", got)
	}
	c = newCluster(t)
	c.serve(configMap, nil, one, two)
	c.change("configmaps", deleting)
	if _, got := c.compare(strings.ReplaceAll(configMap, "kind: App}", "kind: App, labelSelector: {matchLabels: {none: such}}}")); !slices.Equal(got, []string{"one ends", "two ends", "  delete ConfigMap two of map"}) {
		t.Errorf("a child of a parent that is none any more: %q", got)
	}
}

const relates = head + `
  related: [{name: maps, apiVersion: v1, kind: ConfigMap, select: "name: settings"}]
  children:
  - name: map
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}"}
      data: {text: "{{ .spec.text }}{{ range .related.maps }}{{ .data.text }}{{ end }}"}
`

// TestRelatedObjectsAreRead has a template read one that the cluster has, and none of a kind that it does not have.
func TestRelatedObjectsAreRead(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	c.add(contents(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {text: ' there'}}")...)
	report, _ := c.compare(relates)
	if diff := report.Parents[0].Changes[0].Diff; !strings.Contains(diff, "+  text: hello there\n") {
		t.Errorf("got %s", diff)
	}
	c.missing = []schema.GroupKind{{Group: "example.org", Kind: "Widget"}}
	report, got := c.compare(strings.ReplaceAll(strings.Replace(relates, "apiVersion: v1, kind: ConfigMap, select", "apiVersion: example.org/v1, kind: Widget, optional: true, select", 1), "{{ .data.text }}", "x"))
	if diff := cmp.Diff([]string{"the cluster does not have the kind of related[maps]"}, report.Notes); diff != "" || got != nil {
		t.Errorf("%q, notes (-want +got):\n%s", got, diff)
	}
}

func TestWhatIsToBeKnownOfTheWhole(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	report, _ := c.compare(configMap + "  suspend: true\n")
	if diff := cmp.Diff([]string{"spec.suspend is true: templater does nothing of this before that is false"}, report.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	c.change("templatecontrollers", func(content map[string]any) {
		children := mapping(content["spec"])["children"].([]any)
		mapping(children[0])["template"] = "{{"
	})
	report, got := c.compare(configMap)
	if len(report.Notes) != 1 || !strings.HasPrefix(report.Notes[0], "the TemplateController in the cluster is rejected, so that all that this one does is new: ") || report.New {
		t.Errorf("notes %q, new is %v", report.Notes, report.New)
	}
	if !slices.Equal(got, []string{"one begins"}) {
		t.Errorf("got %q", got)
	}
	comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
	if _, err := comparer.Compare(t.Context(), controllerFrom(t, strings.Replace(configMap, "{{ .metadata.name }}", "{{", 1))); err == nil || !strings.HasPrefix(err.Error(), "TemplateController apps: ") {
		t.Errorf("an edit that makes no sense: %v", err)
	}
}

// TestAnEditThatNeverRests tells that of each parent, and does not end.
func TestAnEditThatNeverRests(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	_, got := c.compare(configMap + "  status: {template: 'n: {{ add 1 (.status.n | default 0) }}'}\n")
	if want := "one status fault: " + simulate.ErrRestless.Error(); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestNothingIsLeftAloneForAFault has an object that a template yields no longer, as far as it can be rendered.
func TestNothingIsLeftAloneForAFault(t *testing.T) {
	const orphans = configMap + `
  - name: more
    prunePolicy: Orphan
    template: "{apiVersion: v1, kind: Secret, metadata: {name: more}}"
`
	c := newCluster(t)
	c.serve(orphans, nil, one)
	none := strings.Replace(orphans, `"{apiVersion: v1, kind: Secret, metadata: {name: more}}"`, `"{{ if .spec.none }}{apiVersion: v1, kind: Secret, metadata: {name: more}}{{ end }}"`, 1)
	if _, got := c.compare(none); !slices.Equal(got, []string{"one status", "  orphan Secret more of more"}) {
		t.Errorf("without a fault: %q", got)
	}
	_, got := c.compare(strings.Replace(none, "{{ .spec.text }}", `{{ fail "no" }}`, 1))
	if len(got) != 1 || !strings.HasPrefix(got[0], "one status fault: children[map]:4:18: no") {
		t.Errorf("with a fault: %q", got)
	}
	if _, again := c.compare(orphans); again != nil {
		t.Errorf("the same once more: %q", again)
	}
}

// TestWhatStaysShowsWhatItWouldBe has an object that nobody has deleted yet.
func TestWhatStaysShowsWhatItWouldBe(t *testing.T) {
	onDelete := strings.Replace(configMap, "- name: map\n", "- name: map\n    updateStrategy: {type: OnDelete}\n", 1)
	c := newCluster(t)
	c.serve(onDelete, nil, one)
	report, _ := c.compare(strings.ReplaceAll(onDelete, "{{ .spec.text }}", "{{ .spec.text }}!"))
	change := report.Parents[0].Changes[0]
	if change.Verb != Outdated || !strings.Contains(change.Diff, "-  text: hello\n+  text: hello!\n") || change.Tried || c.tried != nil {
		t.Errorf("%+v, tried %q", change, c.tried)
	}
	recreate := strings.Replace(configMap, "- name: map\n", "- name: map\n    updateStrategy: {type: Recreate}\n", 1)
	c = newCluster(t)
	c.serve(recreate, func(o map[string]any) { o["status"] = map[string]any{"now": "x"} }, one)
	report, _ = c.compare(strings.ReplaceAll(recreate, "{{ .spec.text }}", "{{ .spec.text }}!"))
	change = report.Parents[0].Changes[0]
	if change.Verb != Recreate || !strings.Contains(change.Diff, "-  text: hello\n+  text: hello!\n") || strings.Contains(change.Diff, "status") || strings.Contains(change.Diff, "uid") {
		t.Errorf("%+v", change)
	}
}

// TestWritesThatTheServerDoesNotTry are compared by what the live object has.
func TestWritesThatTheServerDoesNotTry(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "one", nil)
	edited := strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!")
	c := newCluster(t)
	c.serve(configMap, func(o map[string]any) { mapping(o["data"])["defaulted"] = "yes" }, one)
	c.allowed = false
	c.answer = func(kube.Location, *object.Object) (*object.Object, error) { return nil, forbidden }
	report, _ := c.compare(edited)
	if change := report.Parents[0].Changes[0]; change.Tried || change.Refused != "" || !strings.Contains(change.Diff, "   defaulted: \"yes\"\n-  text: hello\n+  text: hello!\n") {
		t.Errorf("%+v", change)
	}
	c.allowed = true
	c.answer = nil
	if report, _ = c.compare(edited); !report.Parents[0].Changes[0].Tried {
		t.Errorf("%+v", report.Parents[0].Changes[0])
	}
	c.answer = func(kube.Location, *object.Object) (*object.Object, error) { // which an update to what is there has, too
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "one", errors.New("by another manager"))
	}
	report, _ = c.compare(edited)
	if change := report.Parents[0].Changes[0]; !change.Tried || change.Refused == "" || strings.Contains(change.Refused, "rename the child") || change.Diff == "" || report.Summary.Refused != 1 {
		t.Errorf("%+v, %+v", change, report.Summary)
	}
}

// TestAServerThatDoesNotAnswer ends the comparison.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one, two)
	c.answer = func(kube.Location, *object.Object) (*object.Object, error) {
		return nil, apierrors.NewServiceUnavailable("away")
	}
	comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
	edited := controllerFrom(t, strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!"))
	if _, err := comparer.Compare(t.Context(), edited); err == nil || !strings.HasPrefix(err.Error(), "try to write ConfigMap ") {
		t.Errorf("got %v", err)
	}
	c.answer = nil
	var mu sync.Mutex
	heard := map[int]int{}
	comparer.Progress = func(done, all int) {
		mu.Lock()
		defer mu.Unlock()
		heard[done] = all
	}
	report, err := comparer.Compare(t.Context(), edited)
	if diff := cmp.Diff(map[int]int{1: 2, 2: 2}, heard); diff != "" || err != nil || len(report.Parents) != 2 {
		t.Errorf("%v, %d parents, progress (-want +got):\n%s", err, len(report.Parents), diff)
	}
}

// TestKindsThatTheEditDoesNotName has children of a kind that no template yields any more: the status knows of it.
func TestKindsThatTheEditDoesNotName(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	c.change("templatecontrollers", func(content map[string]any) {
		content["status"] = map[string]any{"childKinds": []any{map[string]any{"group": "", "kind": "ConfigMap", "version": "v1"}}}
	})
	if _, got := c.compare(strings.Replace(configMap, "kind: ConfigMap", "kind: Secret", 1)); !slices.Equal(got, []string{"one", "  delete ConfigMap one of map", "  create Secret one of map"}) {
		t.Errorf("got %q", got)
	}
}

// TestNamespacesThatTheEditDoesNotName has children where no parent is watched any more.
func TestNamespacesThatTheEditDoesNotName(t *testing.T) {
	watches := func(namespace string) string {
		return strings.Replace(configMap, "kind: App}", "kind: App, namespaces: ["+namespace+"]}", 1)
	}
	c := newCluster(t)
	c.serve(watches("default"), nil, one)
	if _, got := c.compare(watches("other")); !slices.Equal(got, []string{"one ends", "  delete ConfigMap one of map"}) {
		t.Errorf("got %q", got)
	}
}

// TestAFaultAlone is a change, also where no status shows it.
func TestAFaultAlone(t *testing.T) {
	const silent = configMap + "  status: {readyCondition: ''}\n"
	c := newCluster(t)
	c.serve(silent, nil, one)
	_, got := c.compare(strings.Replace(silent, "{{ .spec.text }}", `{{ .spec.text }}{{ fail "no" }}`, 1))
	if len(got) != 1 || !strings.HasPrefix(got[0], "one fault: children[map]:4:34: no") {
		t.Errorf("got %q", got)
	}
}

// TestWhatCannotBeRead ends the comparison.
func TestWhatCannotBeRead(t *testing.T) {
	away := errors.New("the server is away")
	for _, resource := range []string{"templatecontrollers", "apps", "configmaps", "customresourcedefinitions", "pods"} {
		t.Run(resource, func(t *testing.T) {
			c := newCluster(t)
			c.serve(strings.Replace(relates, "kind: ConfigMap, select", "kind: Pod, select", 1), nil, one)
			c.broken = map[string]error{resource: away}
			comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
			report, err := comparer.Compare(t.Context(), controllerFrom(t, strings.Replace(relates, "kind: ConfigMap, select", "kind: Pod, select", 1)))
			if !errors.Is(err, away) || report != nil {
				t.Errorf("got %v, %v", report, err)
			}
		})
	}
	c := newCluster(t)
	c.serve(configMap, nil, one)
	comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
	_, err := comparer.Compare(t.Context(), controllerFrom(t, strings.Replace(configMap, "apiVersion: example.org/v1, kind: App", "apiVersion: v1, kind: Namespace, namespaces: [a]", 1)))
	if err == nil || !strings.HasPrefix(err.Error(), "TemplateController apps: spec.watch: Namespace is cluster-scoped") {
		t.Errorf("a kind that does not fit: %v", err)
	}
}
