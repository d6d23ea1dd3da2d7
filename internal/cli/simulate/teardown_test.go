package simulate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// shop has an order, and something to do before it goes.
const shop = `
  children:
  - name: db
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: db}}
  - name: web
    dependsOn: [db]
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
  - name: kept
    deletionPolicy: Orphan
    template: |
      {apiVersion: v1, kind: Secret, metadata: {name: kept}}
  finalize:
    order: Reverse
    timeout: 10m
    children:
    - name: backup
      readyWhen: eq (.object.data).done "yes"
      template: |
        {apiVersion: v1, kind: ConfigMap, metadata: {name: backup}, data: {of: {{ (first .children.db).metadata.name }}}}
    - name: report
      dependsOn: [backup]
      deletionPolicy: Orphan
      template: |
        {apiVersion: v1, kind: ConfigMap, metadata: {name: report}}
  status:
    template: |
      backup: {{ len .children.backup }}
      db: {{ (first .children.db).metadata.name }}
`

const ofStatus = "update the status of App default/one"

// settledAndDeleted settles, and then deletes the parent.
func settledAndDeleted(t *testing.T, s *Simulator, in State) State {
	t.Helper()
	_, out, _ := settle(t, s, in)
	return out.Deleted()
}

func childID(name string) child.ID {
	return child.ID{Kind: schema.GroupKind{Kind: "ConfigMap"}, Name: types.NamespacedName{Namespace: "default", Name: name}}
}

// states returns how each child stands, by its name.
func states(r Result) map[string]string {
	out := map[string]string{}
	for _, c := range r.Children {
		content := c.Wanted
		if content == nil {
			content = c.Live
		}
		out[Text(Map(content["metadata"])["name"])] = c.State
	}
	return out
}

func wantWrites(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestTeardownOrder deletes a parent: first the objects of spec.finalize.children, then the children in order, then the parent.
func TestTeardownOrder(t *testing.T) {
	s := simulator(t, shop)
	result, in, writes := settle(t, s, settledAndDeleted(t, s, state(t, app)))
	wantWrites(t, writes, "create ConfigMap default/backup", ofStatus)
	want := "being deleted: waiting for spec.finalize.children: children[report] waits for children[backup]: ConfigMap default/backup: readyWhen is not true yet"
	if result.Ready.Reason != "Finalizing" || result.Ready.Message != want || !slices.Equal(result.Waits, []string{want}) || result.Gone {
		t.Errorf("ready %v, waits %q", result.Ready, result.Waits)
	}
	if result.Status["backup"] != int64(1) {
		t.Errorf("status %v", result.Status)
	}
	wantStates := map[string]string{
		"backup": "readyWhen is not true yet", "report": "waiting for other children",
		"db": "is deleted before its parent", "web": "is deleted before its parent", "kept": "will be kept when its parent is deleted",
	}
	if diff := cmp.Diff(wantStates, states(result)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	if _, _, writes := settle(t, s, in); len(writes) > 0 {
		t.Errorf("one more reconciliation writes: %v", writes)
	}
	at := in.find(childID("backup"))
	in.Objects[at] = memserver.Patch(in.Objects[at], map[string]any{"data": map[string]any{"done": "yes"}})
	result, in, writes = settle(t, s, in)
	wantWrites(t, writes, "create ConfigMap default/report", "delete ConfigMap default/web", ofStatus, "delete ConfigMap default/db", ofStatus, "remove the finalizer of App default/one")
	if !result.Gone || len(result.Errors)+len(result.Waits) > 0 {
		t.Errorf("gone is %v, faults %q, waits %q", result.Gone, result.Errors, result.Waits)
	}
	wantStates = map[string]string{"kept": "will be kept when its parent is deleted", "report": "will be kept when its parent is deleted"}
	if diff := cmp.Diff(wantStates, states(result)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if _, has := Map(in.Objects[0]["metadata"])["ownerReferences"]; has {
		t.Errorf("a kept object has owner references: %v", in.Objects[0])
	}
	result, _, writes = settle(t, s, in)
	if !result.Gone || len(writes) > 0 {
		t.Errorf("afterwards: gone is %v, writes %v", result.Gone, writes)
	}
}

// TestTeardownWithAssumedReadiness has the objects of spec.finalize.children be ready as soon as they are there.
func TestTeardownWithAssumedReadiness(t *testing.T) {
	s := simulator(t, shop)
	result, out, err := s.SettleReady(settledAndDeleted(t, s, state(t, app)), func(entry string) bool { return entry == "backup" })
	if err != nil || !result.Gone || len(out.Objects) != 2 {
		t.Errorf("%v, gone is %v, objects %v", err, result.Gone, out.Objects)
	}
	var writes []string
	for _, w := range result.Writes {
		writes = append(writes, w.String())
	}
	wantWrites(t, writes, "create ConfigMap default/backup", ofStatus, "create ConfigMap default/report", "delete ConfigMap default/web", ofStatus, "delete ConfigMap default/db", ofStatus, "remove the finalizer of App default/one")
}

// TestOrphansDoNotBecomeReadyAfterTeardown has a child stay that is not ready.
func TestOrphansDoNotBecomeReadyAfterTeardown(t *testing.T) {
	s := simulator(t, `
  children:
  - name: kept
    deletionPolicy: Orphan
    template: |
      {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: kept}}
`)
	result, out, err := s.SettleReady(settledAndDeleted(t, s, state(t, app)), func(string) bool { return true })
	if err != nil || !result.Gone || states(result)["kept"] != "will be kept when its parent is deleted" || out.Objects[0]["status"] != nil {
		t.Errorf("%v, gone is %v, left are %v, %v", err, result.Gone, states(result), out.Objects)
	}
}

func TestDeletionIncrementsGeneration(t *testing.T) {
	in := state(t, app)
	metadata := Map(in.Deleted().Parent["metadata"])
	if metadata["generation"] != int64(2) || metadata["deletionTimestamp"] != "2026-01-01T12:00:00Z" || metadata["name"] != "one" || IsDeleting(in.Parent) {
		t.Errorf("metadata %v", metadata)
	}
	in.Parent = memserver.Patch(in.Parent, map[string]any{"metadata": map[string]any{"generation": int64(7)}})
	if metadata = Map(in.Deleted().Parent["metadata"]); metadata["generation"] != int64(8) {
		t.Errorf("metadata %v", metadata)
	}
}

// TestChildFinalizersBlockTeardownOrder has such a child hold up the order, until it is gone.
func TestChildFinalizersBlockTeardownOrder(t *testing.T) {
	s := simulator(t, `
  children:
  - name: db
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: db}}
  - name: web
    dependsOn: [db]
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
  finalize: {order: Reverse}
`)
	_, in, _ := settle(t, s, state(t, app))
	at := in.find(childID("web"))
	in.Objects[at] = memserver.Patch(in.Objects[at], map[string]any{"metadata": map[string]any{"finalizers": []any{"example.org/x"}}})
	result, in, writes := settle(t, s, in.Deleted())
	wantWrites(t, writes, "delete ConfigMap default/web", ofStatus)
	const waits = "being deleted: waiting for its children to be deleted: ConfigMap default/web; if one is stuck, check its metadata.finalizers"
	if result.Ready.Message != waits || result.Gone {
		t.Errorf("ready %v, gone is %v", result.Ready, result.Gone)
	}
	if diff := cmp.Diff(map[string]string{"db": "is deleted before its parent", "web": "being deleted"}, states(result)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	if again, _, err := s.SettleReady(in, func(string) bool { return true }); err != nil || again.Gone || len(again.Writes) > 0 {
		t.Errorf("a parent that is being deleted is reconciled again: %v, gone is %v, writes %v", err, again.Gone, again.Writes)
	}
	in.Objects = slices.Delete(slices.Clone(in.Objects), in.find(childID("web")), in.find(childID("web"))+1)
	result, _, writes = settle(t, s, in)
	wantWrites(t, writes, "delete ConfigMap default/db", ofStatus, "remove the finalizer of App default/one")
	if !result.Gone || len(result.Children) > 0 {
		t.Errorf("gone is %v, left are %v", result.Gone, result.Children)
	}
}

func TestTeardownTimeout(t *testing.T) {
	for why, row := range map[string]struct {
		timeout string
		before  time.Duration // from the deletion to the first attempt
		after   time.Duration // from then on
		gone    bool
		want    string // the faults
	}{
		"in time":                              {"timeout: 10m", 0, 10*time.Minute - time.Second, false, ""},
		"the timeout has passed":               {"timeout: 10m", 0, 10*time.Minute + time.Second, true, reconcile.FinalizeTimedOut}, // the start is rounded up to a second
		"no earlier attempt":                   {"timeout: 10m", time.Hour, 10*time.Minute - time.Second, false, ""},
		"the first attempt was made only then": {"timeout: 10m", time.Hour, 0, false, ""},
		"0s is none":                           {"timeout: 0s", 0, 1000 * time.Hour, false, ""},
		"no timeout":                           {"", 0, 1000 * time.Hour, false, ""},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulator(t, strings.Replace(shop, "timeout: 10m", row.timeout, 1))
			in := settledAndDeleted(t, s, state(t, app))
			in.Now = in.Now.Add(row.before)
			_, in, _ = settle(t, s, in)
			in.Now = in.Now.Add(row.after)
			result, _, _ := settle(t, s, in)
			if got := strings.Join(result.Errors, "; "); result.Gone != row.gone || got != row.want {
				t.Errorf("gone is %v, faults %q", result.Gone, got)
			}
		})
	}
}

// TestParentsDeletedWithoutFinalization have parents go at once.
func TestParentsDeletedWithoutFinalization(t *testing.T) {
	const template = `
  children:
  - name: bound
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: bound}}
  - name: elsewhere
    scope: Cluster
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: other}}
`
	const backup = `
  finalize: {children: [{name: backup, template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: backup}}'}]}
  status: {template: 'a: 1'}
`
	finalizer := "remove the finalizer of App default/one"
	annotated := map[string]any{"annotations": map[string]any{"templater.dev/skip-finalize": "true"}}
	orphaned := map[string]any{"finalizers": []any{"orphan"}}
	for why, row := range map[string]struct {
		rest     string
		metadata map[string]any
		writes   []string
		left     map[string]string
	}{
		"finalize child is ready immediately": {backup, nil, []string{"create ConfigMap default/backup", finalizer}, map[string]string{}},
		"no finalizer needed":                 {configMaps, nil, nil, map[string]string{}},
		"a child in another namespace":        {template, nil, []string{"delete ConfigMap other/elsewhere", ofStatus, finalizer}, map[string]string{}},
		"an annotation says so":               {template, annotated, []string{finalizer}, map[string]string{"elsewhere": "will be deleted after its parent"}},
		"the dependents are to stay":          {template, orphaned, []string{finalizer}, map[string]string{"bound": "will be kept when its parent is deleted", "elsewhere": "will be kept when its parent is deleted"}},
		"they are to stay, without a step":    {configMaps, orphaned, nil, map[string]string{"a": "will be kept when its parent is deleted", "b": "will be kept when its parent is deleted"}},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulator(t, row.rest)
			in := settledAndDeleted(t, s, state(t, app))
			in.Parent = memserver.Patch(in.Parent, map[string]any{"metadata": row.metadata})
			result, out, writes := settle(t, s, in)
			wantWrites(t, writes, row.writes...)
			if diff := cmp.Diff(row.left, states(result)); diff != "" || !result.Gone || len(out.Objects) != len(row.left) {
				t.Errorf("gone is %v, %d objects; left (-want +got):\n%s", result.Gone, len(out.Objects), diff)
			}
		})
	}
}

// TestChildWithAnotherOwnerOutlivesParent go with the other one.
func TestChildWithAnotherOwnerOutlivesParent(t *testing.T) {
	s := simulator(t, shop)
	_, in, _ := settle(t, s, state(t, app))
	at := in.find(childID("web"))
	owners, _ := Map(in.Objects[at]["metadata"])["ownerReferences"].([]any)
	other := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}
	in.Objects[at] = memserver.Patch(in.Objects[at], map[string]any{"metadata": map[string]any{"ownerReferences": append(slices.Clone(owners), other)}})
	result, out, err := s.SettleReady(in.Deleted(), func(string) bool { return true })
	if err != nil || !result.Gone || states(result)["web"] != "will be kept when its parent is deleted" {
		t.Fatalf("%v, gone is %v, left are %v", err, result.Gone, states(result))
	}
	if diff := cmp.Diff([]any{other}, Map(out.Objects[out.find(childID("web"))]["metadata"])["ownerReferences"]); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// TestFailedFinalizeTemplateBlocksTeardown tells what is wrong, and keeps everything.
func TestFailedFinalizeTemplateBlocksTeardown(t *testing.T) {
	s := simulator(t, strings.Replace(shop, "{apiVersion: v1, kind: ConfigMap, metadata: {name: backup}, data", `{{ fail "no" }}{apiVersion: v1, kind: ConfigMap, metadata: {name: backup}, data`, 1))
	result, out, writes := settle(t, s, settledAndDeleted(t, s, state(t, app)))
	wantWrites(t, writes, ofStatus)
	if result.Gone || len(out.Objects) != 3 || result.Ready.Reason != "TemplateFailed" || len(result.Errors) != 1 || !strings.HasPrefix(result.Errors[0], "children[backup]:1:4: no") {
		t.Errorf("gone is %v, %d objects, ready %v, faults %q", result.Gone, len(out.Objects), result.Ready, result.Errors)
	}
}

// TestInvalidFinalizeReadyWhenIsReported tells what is wrong with their readyWhen.
func TestInvalidFinalizeReadyWhenIsReported(t *testing.T) {
	s := simulator(t, strings.Replace(shop, `eq (.object.data).done "yes"`, `.object.data`, 1))
	result, _, _ := settle(t, s, settledAndDeleted(t, s, state(t, app)))
	if result.Gone || result.Ready.Reason != "TemplateError" || len(result.Errors) != 1 || !strings.HasPrefix(result.Errors[0], "children[backup].readyWhen:1:1: .object.data is a map") {
		t.Errorf("gone is %v, ready %v, faults %q", result.Gone, result.Ready, result.Errors)
	}
}

// TestGivenChildrenAreDeletedInOrder has objects that were there before, and that lack what their end needs.
func TestGivenChildrenAreDeletedInOrder(t *testing.T) {
	s := simulator(t, strings.Replace(shop, "    timeout: 10m\n    children:\n", "    timeout: 10m\n", 1)[:strings.Index(shop, "    timeout: 10m\n")])
	in := state(t, app, "{apiVersion: v1, kind: ConfigMap, metadata: {name: db}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}", "{apiVersion: v1, kind: Secret, metadata: {name: kept}}")
	_, in, writes := settle(t, s, in)
	wantWrites(t, writes, ofStatus)
	result, _, writes := settle(t, s, in.Deleted())
	wantWrites(t, writes, "delete ConfigMap default/web", ofStatus, "delete ConfigMap default/db", ofStatus, "remove the finalizer of App default/one")
	if diff := cmp.Diff(map[string]string{"kept": "will be kept when its parent is deleted"}, states(result)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestOutdatedFinalizeChildrenByStrategy has one that is ready, and not as its template says now.
func TestOutdatedFinalizeChildrenByStrategy(t *testing.T) {
	for strategy, want := range map[string]string{"OnDelete": "Finalizing False", "CreateOnly": "gone", "Apply": "gone"} {
		t.Run(strategy, func(t *testing.T) {
			s := simulator(t, `
  finalize:
    children:
    - name: backup
      updateStrategy: {type: `+strategy+`}
      readyWhen: (.object.data).done | default false
      template: |
        {apiVersion: v1, kind: ConfigMap, metadata: {name: backup}, data: {text: {{ .spec.text }}}}
  status: {template: 'a: 1'}
`)
			_, in, _ := settle(t, s, settledAndDeleted(t, s, state(t, app)))
			in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: bye}}`))
			in.Objects[0] = memserver.Patch(in.Objects[0], data(t, `{data: {done: true}}`))
			result, _, _ := settle(t, s, in)
			got := result.Ready.Reason + " " + result.Ready.Status
			if result.Gone {
				got = "gone"
			}
			if got != want {
				t.Errorf("%s: %s, want %s", got, result.Ready.Message, want)
			}
		})
	}
}

// TestTeardownIgnoresFailingSelect has children go in order though nobody knows any more what templates would read; the status stays.
func TestTeardownIgnoresFailingSelect(t *testing.T) {
	s := simulator(t, `
  related:
  - {name: maps, apiVersion: v1, kind: ConfigMap, select: '{name: {{ if eq .spec.text "bye" }}{{ fail "no" }}{{ end }}x}'}
  children:
  - name: secret
    template: |
      {apiVersion: v1, kind: Secret, metadata: {name: secret}}
  finalize: {order: Reverse}
  status: {template: 'maps: {{ len .related.maps }}'}
`)
	in := state(t, app)
	in.Related = objects(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
	_, in, _ = settle(t, s, in)
	hold := func(finalizers any) {
		in.Objects[0] = memserver.Patch(in.Objects[0], map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	}
	hold([]any{"example.org/x"})
	result, in, _ := settle(t, s, in.Deleted())
	if result.Status["maps"] != int64(1) || len(result.Related["maps"]) != 1 {
		t.Errorf("while it is being deleted: status %v, related objects %v", result.Status, result.Related)
	}
	in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: bye}}`))
	result, in, writes := settle(t, s, in)
	if len(writes)+len(result.Errors) > 0 || result.Status["maps"] != int64(1) {
		t.Errorf("writes %v, faults %q, status %v", writes, result.Errors, result.Status)
	}
	in.Objects = in.Objects[1:]
	if result, _, _ = settle(t, s, in); !result.Gone {
		t.Errorf("it waits: %v", result.Ready)
	}
	bye := state(t, app)
	bye.Parent = memserver.Patch(bye.Parent, data(t, `{spec: {text: bye}}`))
	if result, _, _ = settle(t, s, bye.Deleted()); !result.Gone {
		t.Errorf("nothing is to be made, and it waits: %v", result.Ready)
	}
}
