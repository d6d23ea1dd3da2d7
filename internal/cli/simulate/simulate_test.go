package simulate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const minimal = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
`

const app = `{apiVersion: example.org/v1, kind: App, metadata: {name: one}, spec: {names: [a, b], text: hello}}`

// simulator compiles the minimal spec, and more of it.
func simulator(t *testing.T, rest string) *Simulator {
	t.Helper()
	return simulatorOf(t, minimal+rest)
}

func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	set, err := manifest.Load([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, o := range set.Objects {
		out = append(out, o.Content)
	}
	return out
}

func state(t *testing.T, parent string, others ...string) State {
	t.Helper()
	s := State{Parent: objects(t, parent)[0], Now: noon}
	if len(others) > 0 {
		s.Objects = objects(t, strings.Join(others, "\n---\n"))
	}
	return s
}

// settle reconciles until nothing is written, and tells the writes.
func settle(t *testing.T, s *Simulator, in State) (Result, State, []string) {
	t.Helper()
	result, out, err := s.Settle(in)
	if err != nil {
		t.Fatal(err)
	}
	var writes []string
	for _, w := range result.Writes {
		writes = append(writes, w.String())
	}
	return result, out, writes
}

const configMaps = `
  children:
  - name: maps
    template: |
      {{- range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}}
      data: {text: {{ $.spec.text }}}
      {{- end }}
  status:
    template: |
      count: {{ len .children.maps }}
`

// TestChildrenAreCreatedUpdatedAndPruned goes from nothing to children, to changed and to fewer ones.
func TestChildrenAreCreatedUpdatedAndPruned(t *testing.T) {
	s := simulator(t, configMaps)
	result, in, writes := settle(t, s, state(t, app))
	want := []string{"create ConfigMap default/a", "create ConfigMap default/b", "update the status of App default/one"}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Fatalf("writes (-want +got):\n%s", diff)
	}
	wantStatus := map[string]any{"count": int64(2), "conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Ready", "message": "all children are ready: 2", "lastTransitionTime": "2026-01-01T12:00:00Z", "observedGeneration": int64(1),
	}}}
	if diff := cmp.Diff(wantStatus, result.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(objects(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {text: hello}}")[0], result.Children[0].Live); diff != "" {
		t.Errorf("child (-want +got):\n%s", diff)
	}
	in.Parent = memserver.Patch(in.Parent, objects(t, "{apiVersion: example.org/v1, kind: App, spec: {names: [b], text: bye}}")[0])
	in.Now = noon.Add(time.Hour)
	result, in, writes = settle(t, s, in)
	want = []string{"update ConfigMap default/b", "delete ConfigMap default/a", "update the status of App default/one", "update the status of App default/one"} // the second one when it is gone
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if len(in.Objects) != 1 || Map(in.Objects[0]["data"])["text"] != "bye" {
		t.Errorf("left are %v", in.Objects)
	}
	if since := Map(result.Status["conditions"].([]any)[0])["lastTransitionTime"]; since != "2026-01-01T12:00:00Z" {
		t.Errorf("the condition is as it was since %v", since)
	}
	if _, _, writes = settle(t, s, in); len(writes) > 0 {
		t.Errorf("one more reconciliation writes: %v", writes)
	}
}

// TestOwnershipOfGivenObjects takes objects that were not made here.
func TestOwnershipOfGivenObjects(t *testing.T) {
	s := simulator(t, configMaps)
	const current = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {text: hello, more: x}}"
	const old = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}, data: {text: old}}"
	const left = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, labels: {templater.dev/child: maps}}}"
	const another = "{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: default, labels: {templater.dev/child: maps, templater.dev/controller: other}}}"
	const nobodys = "{apiVersion: v1, kind: ConfigMap, metadata: {name: e, namespace: default}}"
	result, _, writes := settle(t, s, state(t, app, current, old, left, another, nobodys))
	if diff := cmp.Diff(map[string]string{"a": "ready", "b": "ready"}, states(result)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	want := []string{"update ConfigMap default/b", "delete ConfigMap default/c", "update the status of App default/one", "update the status of App default/one"}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestObjectOfAnotherControllerConflicts has an object that belongs to another TemplateController.
func TestObjectOfAnotherControllerConflicts(t *testing.T) {
	s := simulator(t, configMaps)
	const others = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {templater.dev/controller: other}}, data: {text: theirs}}"
	result, out, writes := settle(t, s, state(t, app, others))
	if diff := cmp.Diff([]string{"create ConfigMap default/b", "update the status of App default/one"}, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	want := "ConfigMap default/a already exists and belongs to TemplateController other: templater does not adopt it; delete it, or choose another name in the template"
	if diff := cmp.Diff([]string{want}, result.Errors); diff != "" || result.Ready.Reason != "ChildConflict" {
		t.Errorf("ready %v; faults (-want +got):\n%s", result.Ready, diff)
	}
	if got := result.Children[0].State; got != "conflict: an object with this name has another owner" || len(out.Objects) != 2 {
		t.Errorf("the child is %q; objects %v", got, out.Objects)
	}
}

// TestObjectsWithoutNamespaceUseParentNamespace are in that of the parent.
func TestObjectsWithoutNamespaceUseParentNamespace(t *testing.T) {
	s := simulator(t, configMaps)
	_, _, writes := settle(t, s, state(t, app, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: hello}}"))
	if diff := cmp.Diff([]string{"create ConfigMap default/b", "update the status of App default/one"}, writes); diff != "" {
		t.Errorf("children: writes (-want +got):\n%s", diff)
	}
	s = simulator(t, strings.ReplaceAll(relates, "yes", `"yes"`))
	in := state(t, app)
	in.Related = objects(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, labels: {use: "yes"}}, data: {a: x}}`)
	if result, _, _ := settle(t, s, in); len(result.Children) != 1 {
		t.Errorf("related: children %v", result.Children)
	}
}

const ordered = `
  children:
  - name: db
    template: |
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: db}
      spec: {replicas: 3}
  - name: web
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: web}
      data: {ready: {{ (first .children.db).status.readyReplicas | quote }}}
`

func TestChildTemplatesWaitForDependencies(t *testing.T) {
	s := simulator(t, ordered)
	result, in, writes := settle(t, s, state(t, app))
	if diff := cmp.Diff([]string{"create StatefulSet default/db", "update the status of App default/one"}, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	wait := "children[web] waits for children[db]: StatefulSet default/db: 0 of 3 replicas are ready"
	if diff := cmp.Diff([]string{wait}, result.Waits); diff != "" || result.Ready.Message != wait || result.Ready.Reason != "Waiting" {
		t.Errorf("ready %v; waits (-want +got):\n%s", result.Ready, diff)
	}
	in.Objects[0] = MakeReady(in.Objects[0], noon)
	result, _, writes = settle(t, s, in)
	if diff := cmp.Diff([]string{"create ConfigMap default/web", "update the status of App default/one"}, writes); diff != "" || result.Ready.Status != "True" {
		t.Errorf("ready %v; writes (-want +got):\n%s", result.Ready, diff)
	}
}

const relates = `
  related:
  - name: settings
    apiVersion: v1
    kind: ConfigMap
    labelSelector: {matchLabels: {use: yes}}
    select: |
      name: {{ .spec.text }}
  children:
  - name: copy
    template: |
      {{- range .related.settings }}
      apiVersion: v1
      kind: Secret
      metadata: {name: copy}
      stringData: {a: {{ .data.a }}}
      {{- end }}
`

func TestRelatedObjects(t *testing.T) {
	s := simulator(t, strings.ReplaceAll(relates, "yes", `"yes"`))
	in := state(t, app)
	in.Related = objects(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, namespace: default, labels: {use: "yes"}}, data: {a: x}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, namespace: other, labels: {use: "yes"}}, data: {a: y}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: bye, namespace: default, labels: {use: "yes"}}, data: {a: z}}`)
	result, _, _ := settle(t, s, in)
	if len(result.Children) != 1 || Map(result.Children[0].Wanted["data"])["a"] != "eA==" {
		t.Errorf("children %v", result.Children)
	}
}

func TestTemplatesWaitForFieldsInRelatedObjects(t *testing.T) {
	s := simulator(t, strings.ReplaceAll(relates, "yes", `"yes"`)+`
  status: {template: 'a: {{ (first .related.settings).data.a }}'}
`)
	in := state(t, app)
	in.Related = objects(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, namespace: default, labels: {use: "yes"}}, data: {}}`)
	result, _, writes := settle(t, s, in)
	if diff := cmp.Diff([]string{"update the status of App default/one"}, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if result.Ready.Reason != "Waiting" || result.Ready.Message != "children[copy] waits for .data.a of ConfigMap default/hello" || result.Status["a"] != nil {
		t.Errorf("ready %v, status %v", result.Ready, result.Status)
	}
}

func TestErrorsAreReported(t *testing.T) {
	for why, row := range map[string]struct{ rest, want string }{
		"a template fails":             {"  children: [{name: a, template: '{{ fail \"no\" }}'}]", `children[a]:1:4: no`},
		"a Job that has failed":        {"  children: [{name: a, template: '{apiVersion: batch/v1, kind: Job, metadata: {name: x}}'}]", "1 of 1 children have failed: Job default/x: failed (BackoffLimitExceeded)"},
		"a status template that fails": {"  children: [{name: a, readyWhen: 'false', template: '{apiVersion: v1, kind: Pod, metadata: {name: x}}'}]\n  status: {template: '{{ if not .observed.a }}{{ else }}{{ fail \"no\" }}{{ end }}'}", "status:1:38: no"},
		"a kind that there is not":     {"  children: [{name: a, template: '{apiVersion: v1, kind: Pode, metadata: {name: x}}'}]", "children[a]:1: the cluster does not serve kind Pode in v1: install it, or correct apiVersion and kind"},
		"a kind without a namespace":   {"  children: [{name: a, template: '{apiVersion: v1, kind: Node, metadata: {name: x}}'}]", "children[a]:1: a Node is cluster-scoped and cannot be owned by the namespaced App: an owner reference cannot point from a cluster-scoped to a namespaced object; set scope: Cluster in this child template, or watch a cluster-scoped kind"},
		"a status that cannot be":      {"  status: {template: 'conditions: 1'}", "status: conditions is not a list"},
		"a selection that cannot be":   {"  related: [{name: a, apiVersion: v1, kind: Pod, select: 'x: 1'}]\n  children: [{name: a, template: '{{ if .related.a }}{{ end }}'}]", "related[a].select: it has an unknown key; valid keys are name, namespace, allNamespaces and labelSelector"},
		"a readyWhen that cannot tell": {"  children: [{name: a, readyWhen: '.object.data', template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}'}]", "children[a].readyWhen:1:1: .object.data is a map"},
	} {
		t.Run(why, func(t *testing.T) {
			in := state(t, app, "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, status: {conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}}")
			result, _, _ := settle(t, simulator(t, row.rest), in)
			if len(result.Errors) != 1 || !strings.HasPrefix(result.Errors[0], row.want) || result.Ready.Status != "False" {
				t.Errorf("ready %v, faults %q, want %q", result.Ready, result.Errors, row.want)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	s := simulatorOf(t, strings.Replace(minimal, "kind: App}", `kind: App, filter: 'eq .spec.text "hello"'}`, 1))
	for text, want := range map[string]string{
		"hello": "", "bye": "spec.watch.filter is not true for it", "1": "spec.watch.filter cannot be evaluated: spec.watch.filter:1:1: eq: cannot compare a number with a string; convert one of them with int, float64 or toString",
	} {
		t.Run(text, func(t *testing.T) {
			if got := s.Matches(data(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: a, namespace: b}, spec: {text: "+text+"}}")); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestNonParentsAreRejected(t *testing.T) {
	s := simulator(t, "  children: [{name: a, template: ' '}]")
	s.spec.Watch.Namespaces = []string{"team"}
	for text, want := range map[string]string{
		"{apiVersion: v1, kind: Pod, metadata: {name: x}}": "Pod x is not a parent: it is a Pod, and TemplateController apps watches App.example.org",
		app: "App one is not a parent: its namespace is not in spec.watch.namespaces",
		"{apiVersion: example.org/v2, kind: App, metadata: {name: x, namespace: team}}": "App team/x is not a parent: its version is v2, and TemplateController apps watches v1: write it in that version",
	} {
		if _, _, err := s.Reconcile(state(t, text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSettleLimitsReconciliations(t *testing.T) {
	s := simulator(t, "  status:\n    template: |\n      n: {{ add 1 (.status.n | default 0) }}\n")
	result, _, err := s.Settle(state(t, app))
	if !errors.Is(err, ErrNotConverging) || result.Ready.Reason == "" || len(result.Writes) != mostReconciliations {
		t.Errorf("got %v, ready %v, %d writes", err, result.Ready, len(result.Writes))
	}
}

func TestRollout(t *testing.T) {
	s := simulator(t, strings.Replace(configMaps, "    template: |\n      {{- range .spec", "    updateStrategy: {rollingUpdate: {maxUnavailable: 1}}\n    readyWhen: eq (.object.status).phase \"Up\"\n    template: |\n      {{- range .spec", 1))
	_, in, _ := settle(t, s, state(t, app))
	up := func() {
		for i, o := range in.Objects {
			in.Objects[i] = memserver.Patch(o, map[string]any{"status": map[string]any{"phase": "Up"}})
		}
	}
	up()
	in.Parent = memserver.Patch(in.Parent, map[string]any{"spec": map[string]any{"text": "bye"}})
	const status = "update the status of App default/one"
	want := []string{"update ConfigMap default/a", status, "update ConfigMap default/b", status}
	if _, _, writes := settle(t, s, in); !slices.Equal(writes, want) {
		t.Errorf("they stay up: writes %v, want %v", writes, want)
	}
	in.Objects[0] = memserver.Patch(in.Objects[0], map[string]any{"status": nil})
	result, _, writes := settle(t, s, in)
	if want := []string{"update ConfigMap default/a", status}; !slices.Equal(writes, want) || !strings.HasPrefix(result.Ready.Message, "children[maps]: rollout: 1 of 2 are up to date, waiting for ConfigMap default/a: readyWhen is not true yet") {
		t.Errorf("one is down: writes %v, want %v; ready %v", writes, want, result.Ready)
	}
}

func TestMakeReady(t *testing.T) {
	for _, text := range []string{
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: 3}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 4}, spec: {progressDeadlineSeconds: 1}, status: {observedGeneration: 3}}",
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {replicas: 3}}",
		"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}}",
		"{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x}}",
		"{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {completions: 2}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {}}",
		"{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer}}",
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, status: {phase: Pending}}",
		"{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: x}, status: {}}",
		"{apiVersion: example.org/v1, kind: Widget, metadata: {name: x, generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: 'False'}]}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
	} {
		set, err := manifest.Load([]string{"-"}, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		o := append(set.Objects, set.CRDs...)[0].Content
		after := MakeReady(o, noon)
		if !readiness.IsReady(after) {
			t.Errorf("%s: %s: %v", text, readiness.Why(after), after["status"])
		}
		if diff := cmp.Diff(after, MakeReady(after, noon.Add(time.Hour))); diff != "" {
			t.Errorf("%s: ready objects have changed (-before +after):\n%s", text, diff)
		}
	}
	given := objects(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")[0]
	if diff := cmp.Diff(given, MakeReady(given, noon)); diff != "" {
		t.Errorf("objects that are ready by default have changed (-before +after):\n%s", diff)
	}
}

// TestMakeReadyStatus looks at what is made up.
func TestMakeReadyStatus(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {replicas: 3}}":                                            {"readyReplicas": int64(3), "observedGeneration": int64(1)},
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, generation: 4}}":                                                  {"readyReplicas": int64(1), "observedGeneration": int64(4)},
		"{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {completions: 2}}":                                                {"succeeded": int64(2)},
		"{apiVersion: batch/v1, kind: Job, metadata: {name: x}}":                                                                        {"succeeded": int64(1)},
		"{apiVersion: example.org/v1, kind: Widget, metadata: {name: x}, status: {a: b, conditions: [{type: Ready, status: 'False'}]}}": {"a": "b", "observedGeneration": int64(1)},
	} {
		after := MakeReady(objects(t, text)[0], noon)
		for key, value := range want {
			if got := Map(after["status"])[key]; got != value {
				t.Errorf("%s: %s is %v, want %v", text, key, got, value)
			}
		}
		if Map(after["spec"])["clusterIP"] != nil {
			t.Errorf("%s has a clusterIP", text)
		}
	}
	for given, want := range map[string]string{"10.0.0.1": "10.0.0.1", "": "192.0.2.2"} {
		service := objects(t, "{apiVersion: v1, kind: Service, metadata: {name: x, generation: 2}, spec: {type: LoadBalancer}, status: {observedGeneration: 1}}")[0]
		if given != "" {
			service = memserver.Patch(service, map[string]any{"spec": map[string]any{"clusterIP": given}})
		}
		if got := Map(MakeReady(service, noon)["spec"])["clusterIP"]; got != want {
			t.Errorf("clusterIP %v, want %s", got, want)
		}
	}
}

// TestOnlySelectedChildrenBecomeReady has two entries, of which one is to, with an object that is ready by itself after it.
func TestOnlySelectedChildrenBecomeReady(t *testing.T) {
	s := simulator(t, `
  children:
  - name: one
    template: |
      {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}}
      ---
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}}
  - name: two
    template: |
      {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: b}}
`)
	result, _, err := s.SettleReady(state(t, app), func(entry string) bool { return entry == "one" })
	if diff := cmp.Diff(map[string]string{"a": "ready", "map": "ready", "b": "0 of 1 replicas are ready"}, states(result)); diff != "" || err != nil {
		t.Errorf("%v; (-want +got):\n%s", err, diff)
	}
}

// TestManyRelatedObjectsAreSelected has a State with objects that are found by what a parent has chosen.
func TestManyRelatedObjectsAreSelected(t *testing.T) {
	s := simulator(t, `
  related:
  - {name: settings, apiVersion: v1, kind: ConfigMap, select: '{name: a}'}
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: out}, data: {names: {{ collect "metadata.name" .related.settings | join "," | quote }}}}
`)
	in := state(t, app, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {from: here}}`)
	in.Read = func(entry string, chosen related.Selection) []*object.Object {
		var out []*object.Object
		for _, name := range []string{"a", "b"} {
			o, err := object.From(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "default"}})
			if err != nil {
				t.Fatal(err)
			}
			if entry == "settings" && chosen.Selects(o) {
				out = append(out, o)
			}
		}
		return out
	}
	result, _, _ := settle(t, s, in)
	seen := result.Related["settings"]
	if len(seen) != 1 || seen[0].Text("data", "from") != "here" {
		t.Errorf("the templates see %v, want the object of the State once", seen)
	}
	in.Objects = nil
	result, _, _ = settle(t, s, in)
	if seen := result.Related["settings"]; len(seen) != 1 || seen[0].Text("data", "from") != "" {
		t.Errorf("the templates see %v, want the object that is read", seen)
	}
	body, err := object.Decode(result.Children[0].Body("resourceVersion", "1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := body.Text("data", "names"); got != "a" || body.Label("templater.dev/controller") != "apps" || body.ResourceVersion() != "1" {
		t.Errorf("what would be applied is %v", body.Content())
	}
}
