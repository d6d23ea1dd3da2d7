package diff

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/revision"
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

// TestObjectsBeingDeletedAreSkipped is left out: parents, and children of parents that stay.
func TestObjectsBeingDeletedAreSkipped(t *testing.T) {
	edited := strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!")
	deleting := func(content map[string]any) {
		if metadataText(content, "name") == "one" {
			simulate.Map(content["metadata"])["deletionTimestamp"] = "2026-01-01T00:00:00Z"
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
		t.Errorf("a recreated child: %q", got)
	}
	c = newCluster(t)
	c.serve(configMap, nil, one, two)
	c.change("configmaps", deleting)
	if _, got := c.compare(strings.ReplaceAll(configMap, "kind: App}", "kind: App, labelSelector: {matchLabels: {none: such}}}")); !slices.Equal(got, []string{"one removed", "two removed", "  delete ConfigMap two of map"}) {
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

func TestReportNotes(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	report, _ := c.compare(configMap + "  suspend: true\n")
	if diff := cmp.Diff([]string{"spec.suspend is true: none of these changes is made until it is false"}, report.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	c.change("templatecontrollers", func(content map[string]any) {
		children := simulate.Map(content["spec"])["children"].([]any)
		simulate.Map(children[0])["template"] = "{{"
	})
	report, got := c.compare(configMap)
	if len(report.Notes) != 1 || !strings.HasPrefix(report.Notes[0], "the TemplateController in the cluster is not accepted, so all changes are attributed to this version: ") || report.New {
		t.Errorf("notes %q, new is %v", report.Notes, report.New)
	}
	if !slices.Equal(got, []string{"one added"}) {
		t.Errorf("got %q", got)
	}
	comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
	if _, err := comparer.Compare(t.Context(), controllerFrom(t, strings.Replace(configMap, "{{ .metadata.name }}", "{{", 1))); err == nil || !strings.HasPrefix(err.Error(), "TemplateController apps: ") {
		t.Errorf("an edit that makes no sense: %v", err)
	}
}

// TestReportHasTheRevision holds the ID to that of the operator, which sees the spec with all defaults.
func TestReportHasTheRevision(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	spec := &controllerFrom(t, configMap).Spec
	id := revision.IDOf(spec)
	for why, row := range map[string]struct {
		rollout    string
		unapproved bool
	}{
		"no rollout":            {"", false},
		"no approval is needed": {"  rollout: {maxFailed: 1}\n", false},
		"approval is needed":    {"  rollout: {approval: Required, approvedRevision: 0123456789abcdef}\n", true},
		"it is approved":        {"  rollout: {approval: Required, approvedRevision: '" + id + "'}\n", false},
	} {
		t.Run(why, func(t *testing.T) {
			report, _ := c.compare(configMap + row.rollout)
			if report.Revision != id || report.unapproved != row.unapproved {
				t.Errorf("revision %s, unapproved is %v; want %s, %v", report.Revision, report.unapproved, id, row.unapproved)
			}
		})
	}
	if edited, _ := c.compare(strings.Replace(configMap, "{{ .spec.text }}", "{{ .spec.text }}!", 1)); edited.Revision == id {
		t.Error("an edited template has the same revision")
	}
}

// TestReconciliationLoopIsReportedPerParent tells that of each parent, and does not end.
func TestReconciliationLoopIsReportedPerParent(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	_, got := c.compare(configMap + "  status: {template: 'n: {{ add 1 (.status.n | default 0) }}'}\n")
	if want := "one status fault: " + simulate.ErrNotConverging.Error(); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestTemplateErrorReportsNoOrphans has an object that a template yields no longer, as far as it can be rendered.
func TestTemplateErrorReportsNoOrphans(t *testing.T) {
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

// TestOutdatedObjectShowsDiff has an object that nobody has deleted yet.
func TestOutdatedObjectShowsDiff(t *testing.T) {
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

// TestForbiddenDryRunFallsBackToLocalApply are compared by what the live object has.
func TestForbiddenDryRunFallsBackToLocalApply(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "one", nil)
	edited := strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!")
	c := newCluster(t)
	c.serve(configMap, func(o map[string]any) { simulate.Map(o["data"])["defaulted"] = "yes" }, one)
	c.allowed = false
	c.answer = func(request.Location, *object.Object) (*object.Object, error) { return nil, forbidden }
	report, _ := c.compare(edited)
	if change := report.Parents[0].Changes[0]; change.Tried || change.Refused != "" || !strings.Contains(change.Diff, "   defaulted: \"yes\"\n-  text: hello\n+  text: hello!\n") {
		t.Errorf("%+v", change)
	}
	c.allowed = true
	c.answer = nil
	if report, _ = c.compare(edited); !report.Parents[0].Changes[0].Tried {
		t.Errorf("%+v", report.Parents[0].Changes[0])
	}
	c.answer = func(request.Location, *object.Object) (*object.Object, error) { // which an update to what is there has, too
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "one", errors.New("by another manager"))
	}
	report, _ = c.compare(edited)
	if change := report.Parents[0].Changes[0]; !change.Tried || change.Refused == "" || strings.Contains(change.Refused, "rename the child") || change.Diff == "" || report.Summary.Refused != 1 {
		t.Errorf("%+v, %+v", change, report.Summary)
	}
}

// TestServerErrorEndsComparison ends the comparison.
func TestServerErrorEndsComparison(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one, two)
	c.answer = func(request.Location, *object.Object) (*object.Object, error) {
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

// TestChildrenOfRemovedKindsAreCompared has children of a kind that no template yields any more: the status knows of it.
func TestChildrenOfRemovedKindsAreCompared(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	c.change("templatecontrollers", func(content map[string]any) {
		content["status"] = map[string]any{"childKinds": []any{map[string]any{"group": "", "kind": "ConfigMap", "version": "v1"}}}
	})
	if _, got := c.compare(strings.Replace(configMap, "kind: ConfigMap", "kind: Secret", 1)); !slices.Equal(got, []string{"one", "  delete ConfigMap one of map", "  create Secret one of map"}) {
		t.Errorf("got %q", got)
	}
}

// TestChildrenInRemovedNamespacesAreCompared has children where no parent is watched any more.
func TestChildrenInRemovedNamespacesAreCompared(t *testing.T) {
	watches := func(namespace string) string {
		return strings.Replace(configMap, "kind: App}", "kind: App, namespaces: ["+namespace+"]}", 1)
	}
	c := newCluster(t)
	c.serve(watches("default"), nil, one)
	if _, got := c.compare(watches("other")); !slices.Equal(got, []string{"one removed", "  delete ConfigMap one of map"}) {
		t.Errorf("got %q", got)
	}
}

// TestNewErrorWithoutStatusIsChange is a change, also where no status shows it.
func TestNewErrorWithoutStatusIsChange(t *testing.T) {
	const silent = configMap + "  status: {readyCondition: ''}\n"
	c := newCluster(t)
	c.serve(silent, nil, one)
	_, got := c.compare(strings.Replace(silent, "{{ .spec.text }}", `{{ .spec.text }}{{ fail "no" }}`, 1))
	if len(got) != 1 || !strings.HasPrefix(got[0], "one fault: children[map]:4:34: no") {
		t.Errorf("got %q", got)
	}
}

// TestNewlySelectedParents are those that the TemplateController in the cluster leaves out.
func TestNewlySelectedParents(t *testing.T) {
	of := func(tier string) string {
		return strings.ReplaceAll(configMap, "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: "+tier+"}}}")
	}
	c := newCluster(t)
	c.serve(of("front"), nil, strings.Replace(one, "name: one", "name: one, labels: {tier: front}", 1))
	back := contents(t, strings.Replace(two, "name: two", "name: two, namespace: default, uid: u, labels: {tier: back}", 1))
	c.add(back...)
	if report, got := c.compare(configMap); !slices.Equal(got, []string{"two added status", "  create ConfigMap two of map"}) || report.Summary.Parents != 2 {
		t.Errorf("got %q", got)
	}
}

// TestParentThatStopsMatchingDuringComparison has one that matches no more when it is its turn.
func TestParentThatStopsMatchingDuringComparison(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one, two)
	c.lax = true
	selecting := strings.ReplaceAll(configMap, "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: front}}}")
	const want = " fault: App default/%s is not a parent: its labels do not match spec.watch.labelSelector"
	_, got := c.compare(selecting)
	if !slices.Equal(got, []string{"one" + strings.Replace(want, "%s", "one", 1), "two" + strings.Replace(want, "%s", "two", 1)}) {
		t.Errorf("got %q", got)
	}
}

// TestParentsAreSortedNaturally has many.
func TestParentsAreSortedNaturally(t *testing.T) {
	c := newCluster(t)
	var parents, want []string
	for _, name := range []string{"a-1", "a-2", "a-10", "b", "c", "d", "e", "f"} {
		parents, want = append(parents, strings.Replace(one, "name: one", "name: "+name, 1)), append(want, name)
	}
	c.serve(configMap, nil, parents...)
	report, _ := c.compare(strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!"))
	var got []string
	for _, p := range report.Parents {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRelatedClusterScopedAndDeletedObjects has a kind without namespaces, and a child that is being deleted: it is gone in the end.
func TestRelatedClusterScopedAndDeletedObjects(t *testing.T) {
	const related = configMap + `  related:
  - {name: zones, apiVersion: example.org/v1, kind: Zone}
  - {name: maps, apiVersion: v1, kind: ConfigMap}
  status:
    template: |
      zones: {{ collect "metadata.name" .related.zones | join " " }}
      maps: {{ collect "metadata.name" .related.maps | join " " }}
`
	c := newCluster(t)
	c.serve(configMap, nil, one, two)
	c.change("configmaps", func(content map[string]any) {
		if metadataText(content, "name") == "one" {
			simulate.Map(content["metadata"])["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}
	})
	c.add(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "zones.example.org"}, "spec": map[string]any{
		"group": "example.org", "scope": "Cluster", "names": map[string]any{"kind": "Zone", "plural": "zones"}, "versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
	}})
	c.add(contents(t, "{apiVersion: example.org/v1, kind: Zone, metadata: {name: north}}")...)
	edited := strings.Replace(related, `"{{ .metadata.name }}"`, `"{{ .metadata.name }}-map"`, 1)
	report, got := c.compare(edited)
	if len(got) == 0 || got[0] != "one status" {
		t.Fatalf("got %q", got)
	}
	if status := report.Parents[0].Status; !strings.Contains(status, "+zones: north\n") || !strings.Contains(status, "+maps: one-map two\n") {
		t.Errorf("the status is %s", status)
	}
}

// TestMissingChildBlockedByFailedDependency has a child that somebody has deleted, and that an edit has wait for what cannot be made.
func TestMissingChildBlockedByFailedDependency(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	delete(c.objects, schema.GroupResource{Resource: "configmaps"})
	_, got := c.compare(strings.Replace(configMap, "- name: map\n", "- name: bad\n    template: '{{ fail \"no\" }}'\n  - name: map\n    dependsOn: [bad]\n", 1))
	if len(got) != 1 || !strings.HasPrefix(got[0], "one status fault: children[bad]:1:4: no") {
		t.Errorf("got %q", got)
	}
}

// TestOnDeleteReportsOnlyMissingObjects is what is not there; what is there as it is to be is nothing to tell.
func TestOnDeleteReportsOnlyMissingObjects(t *testing.T) {
	onDelete := strings.Replace(configMap, "- name: map\n", "- name: map\n    updateStrategy: {type: OnDelete}\n", 1)
	c := newCluster(t)
	c.serve(onDelete, nil, one)
	c.change("templatecontrollers", func(content map[string]any) {
		children := simulate.Map(content["spec"])["children"].([]any)
		simulate.Map(children[0])["template"] = `{{ fail "no" }}`
	})
	if _, got := c.compare(onDelete); !slices.Equal(got, []string{"one status"}) {
		t.Errorf("a template that is mended: %q", got)
	}
	c = newCluster(t)
	c.serve(onDelete, nil, one)
	delete(c.objects, schema.GroupResource{Resource: "configmaps"})
	if _, got := c.compare(strings.ReplaceAll(onDelete, "{{ .spec.text }}", "{{ .spec.text }}!")); !slices.Equal(got, []string{"one", "  create ConfigMap one of map"}) {
		t.Errorf("a deleted object: %q", got)
	}
}

// TestNoOpUpdatesAreHiddenUnlessRejected are not told, unless the server refuses them.
func TestNoOpUpdatesAreHiddenUnlessRejected(t *testing.T) {
	edited := strings.Replace(configMap, "{text:", "{more: x, text:", 1)
	c := newCluster(t)
	c.serve(configMap, func(o map[string]any) { simulate.Map(o["data"])["more"] = "x" }, one)
	if _, got := c.compare(edited); got != nil || len(c.tried) != 1 {
		t.Errorf("got %q, tried %q", got, c.tried)
	}
	c.answer = func(request.Location, *object.Object) (*object.Object, error) {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "one", errors.New("by another manager"))
	}
	if report, got := c.compare(edited); len(got) != 2 || report.Summary.Refused != 1 {
		t.Errorf("it is refused: %q", got)
	}
}

// TestDiscoveryAndAccessErrorsEndComparison end the comparison: about kinds of new children, and about permissions.
func TestDiscoveryAndAccessErrorsEndComparison(t *testing.T) {
	away := errors.New("the server is away")
	edited := controllerFrom(t, strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!"))
	c := newCluster(t)
	c.serve(configMap, nil, one)
	comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
	c.allowed, c.refused = true, away
	c.answer = func(request.Location, *object.Object) (*object.Object, error) {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "one", nil)
	}
	if report, err := comparer.Compare(t.Context(), edited); !errors.Is(err, away) {
		t.Errorf("permissions: %v, %+v", err, report)
	}
	c.answer = func(_ request.Location, body *object.Object) (*object.Object, error) { // of the first one
		c.broken = map[string]error{"Secret": away}
		return body, nil
	}
	more := strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!") + "  - {name: secret, template: '{apiVersion: v1, kind: Secret, metadata: {name: new}}'}\n"
	if report, err := comparer.Compare(t.Context(), controllerFrom(t, more)); !errors.Is(err, away) {
		t.Errorf("kinds: %v, %+v", err, report)
	}
}

// TestForbiddenDryRunsAreNamedInOrder are of several resources, which are named in order.
func TestForbiddenDryRunsAreNamedInOrder(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	c.allowed = false
	c.answer = func(at request.Location, _ *object.Object) (*object.Object, error) {
		return nil, apierrors.NewForbidden(at.Resource.GroupResource(), at.Name, nil)
	}
	var edited strings.Builder
	edited.WriteString(configMap)
	for _, kind := range []string{"Pod", "Secret", "Service", "ServiceAccount", "Endpoints", "PersistentVolumeClaim"} {
		edited.WriteString("  - {name: " + strings.ToLower(kind) + ", template: '{apiVersion: v1, kind: " + kind + ", metadata: {name: new}}'}\n")
	}
	edited.WriteString("  - {name: more, template: '{apiVersion: v1, kind: Pod, metadata: {name: newer}}'}\n")
	report, _ := c.compare(edited.String())
	want := "7 writes are compared without the API server, because you are not allowed to create and patch endpoints, persistentvolumeclaims, pods, secrets, serviceaccounts, services: defaults and rejections are not shown"
	if diff := cmp.Diff([]string{want}, report.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if len(c.tried) != 6 {
		t.Errorf("tried %q, want one of each resource", c.tried)
	}
}

// TestReadErrorEndsComparison ends the comparison.
func TestReadErrorEndsComparison(t *testing.T) {
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
	c.serve(strings.Replace(relates, "kind: ConfigMap, select", "kind: Pod, select", 1), nil, one)
	c.broken = map[string]error{"pods": away}
	comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
	if report, err := comparer.Compare(t.Context(), controllerFrom(t, configMap)); !errors.Is(err, away) {
		t.Errorf("what the TemplateController in the cluster reads: %v, %+v", err, report)
	}
	_, err := comparer.Compare(t.Context(), controllerFrom(t, strings.Replace(configMap, "apiVersion: example.org/v1, kind: App", "apiVersion: v1, kind: Namespace, namespaces: [a]", 1)))
	if err == nil || !strings.HasPrefix(err.Error(), "TemplateController apps: spec.watch: Namespace is cluster-scoped") {
		t.Errorf("a kind that does not fit: %v", err)
	}
}
