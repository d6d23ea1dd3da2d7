package simulate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

// TestDroppedFieldsAreRemoved go, and those of others stay.
func TestDroppedFieldsAreRemoved(t *testing.T) {
	s := simulator(t, `
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {text: x{{ if ne .spec.text "less" }}, more: z{{ end }}}}
`)
	_, full, _ := settle(t, s, state(t, app))
	full.Parent = memserver.Patch(full.Parent, data(t, `{spec: {text: less}}`))
	if _, full, _ = settle(t, s, full); Map(full.Objects[0]["data"])["more"] != nil {
		t.Errorf("the initial objects were changed: %v", full.Objects[0])
	}
	less := state(t, app)
	less.Parent = memserver.Patch(less.Parent, data(t, `{spec: {text: less}}`))
	_, less, _ = settle(t, s, less)
	more := less.copy()
	more.Parent = memserver.Patch(more.Parent, data(t, `{spec: {text: hello}}`))
	_, in, _ := settle(t, s, more)
	in.Objects[0] = memserver.Patch(in.Objects[0], data(t, `{data: {others: o}}`))
	in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: less}}`))
	result, out, writes := settle(t, s, in)
	wantWrites(t, writes, "update ConfigMap default/map")
	if _, twice, _ := settle(t, s, in); !Same(twice.Objects[0]["data"], out.Objects[0]["data"]) {
		t.Errorf("the same reconciliations once more come to %v", twice.Objects[0])
	}
	again := out.copy()
	for _, words := range []string{"more", "less"} { // what an update has set goes, too
		again.Parent = memserver.Patch(again.Parent, map[string]any{"spec": map[string]any{"text": words}})
		_, again, _ = settle(t, s, again)
	}
	if diff := cmp.Diff(data(t, `{text: x, others: o}`), again.Objects[0]["data"]); diff != "" {
		t.Errorf("with more, and less again, data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(data(t, `{text: x, others: o}`), out.Objects[0]["data"]); diff != "" || result.Ready.Status != "True" {
		t.Errorf("ready %v, data (-want +got):\n%s", result.Ready, diff)
	}
	if metadata := Map(out.Objects[0]["metadata"]); metadata["generation"] != int64(3) || metadata["uid"] != Map(in.Objects[0]["metadata"])["uid"] {
		t.Errorf("metadata %v", metadata)
	}
}

// TestStatusMergesOtherManagers joins what the template yields with what others have written.
func TestStatusMergesOtherManagers(t *testing.T) {
	s := simulator(t, `
  status:
    template: |
      said: {{ .spec.text }}
      {{- if ne .spec.text "less" }}
      more: x
      conditions:
      - {type: Late, status: {{ eq .spec.text "late" }}}
      {{- end }}
`)
	in := state(t, app)
	in.Parent = memserver.Patch(in.Parent, map[string]any{"status": map[string]any{"others": "o", "conditions": []any{
		map[string]any{"type": "First", "status": "True"}, map[string]any{"type": "Ready", "status": "Unknown"},
	}}})
	types := func(status any) (out []string) {
		for _, c := range Map(status)["conditions"].([]any) {
			out = append(out, Text(Map(c)["type"])+" "+Text(Map(c)["status"]))
		}
		return out
	}
	_, in, _ = settle(t, s, in)
	status := Map(in.Parent["status"])
	if got := types(status); status["said"] != "hello" || status["more"] != "x" || status["others"] != "o" || !slices.Equal(got, []string{"First True", "Ready True", "Late False"}) {
		t.Errorf("status %v", status)
	}
	in.Parent, in.Now = memserver.Patch(in.Parent, data(t, `{spec: {text: less}}`)), in.Now.Add(time.Hour)
	_, in, writes := settle(t, s, in)
	wantWrites(t, writes, ofStatus)
	status = Map(in.Parent["status"])
	if got := types(status); status["said"] != "less" || status["more"] != nil || status["others"] != "o" || !slices.Equal(got, []string{"First True", "Ready True"}) {
		t.Errorf("with less of it: status %v", status)
	}
}

// TestFailedStatusTemplateKeepsStatus stays as it was, and the ready condition says why.
func TestFailedStatusTemplateKeepsStatus(t *testing.T) {
	for why, row := range map[string]struct{ template, fault string }{
		"the template fails":        {`{{ if eq .spec.text "bye" }}{{ fail "no" }}{{ end }}said: {{ .spec.text }}`, "status:1:32: no"},
		"output without conditions": {`{said: {{ .spec.text }}, conditions: {{ if eq .spec.text "bye" }}1{{ else }}[]{{ end }}}`, "status: conditions is not a list"},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulator(t, "  status:\n    template: |\n      "+row.template+"\n")
			_, in, _ := settle(t, s, state(t, app))
			in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: bye}}`))
			result, out, _ := settle(t, s, in)
			if len(result.Errors) != 1 || !strings.HasPrefix(result.Errors[0], row.fault) || result.Ready.Status != "False" {
				t.Errorf("faults %q, ready %v, want %s", result.Errors, result.Ready, row.fault)
			}
			if said := Map(out.Parent["status"])["said"]; said != "hello" {
				t.Errorf("the status says %v", said)
			}
		})
	}
}

// TestGivenObjectsBecomeChildren gives them what tells that, and changes nothing else. Templates of no other entry see them.
func TestGivenObjectsBecomeChildren(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) { givenObjectsAreChildren(t, strategy) })
	}
}

func givenObjectsAreChildren(t *testing.T, strategy string) {
	t.Helper()
	s := simulator(t, strings.Replace(configMaps, "- name: maps\n", "- name: maps\n    updateStrategy: {type: "+strategy+"}\n", 1))
	given := "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {own: x}}, data: {text: hello, more: z}}"
	_, out, writes := settle(t, s, state(t, app, given))
	wantWrites(t, writes, "create ConfigMap default/b", ofStatus)
	metadata := Map(out.Objects[0]["metadata"])
	labels, owners := Map(metadata["labels"]), metadata["ownerReferences"].([]any)
	if labels["templater.dev/child"] != "maps" || labels["own"] != "x" || len(owners) != 1 || Map(owners[0])["name"] != "one" {
		t.Errorf("metadata %v", metadata)
	}
	if Map(out.Objects[0]["data"])["more"] != "z" || metadata["generation"] != nil {
		t.Errorf("it has changed: %v", out.Objects[0])
	}
	if strategy == "OnDelete" || strategy == "CreateOnly" {
		_, old, writes := settle(t, s, state(t, app, given, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {text: old}}"))
		wantWrites(t, writes, ofStatus)
		if b := old.Objects[1]; Map(b["data"])["text"] != "old" || Map(Map(b["metadata"])["labels"])["templater.dev/child"] != "maps" {
			t.Errorf("an object that is to stay as it is: %v", b)
		}
	}
	ready, _, err := s.SettleReady(out, func(entry string) bool { return entry == "maps" })
	if err != nil || ready.Ready.Status != "True" {
		t.Errorf("%v, ready %v", err, ready.Ready)
	}
}

// TestOwnerReferencesDecideOwnership has an object that another one controls, and one that the parent does.
func TestOwnerReferencesDecideOwnership(t *testing.T) {
	s := simulator(t, configMaps)
	in := state(t, app, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: other, controller: true}]}, data: {text: hello}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: b, ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: u, controller: true}]}, data: {text: hello}}")
	in.Parent = memserver.Patch(in.Parent, data(t, `{metadata: {uid: u}}`))
	result, _, writes := settle(t, s, in)
	wantWrites(t, writes, ofStatus)
	if diff := cmp.Diff(map[string]string{"a": "conflict: an object with this name has another owner", "b": "ready"}, states(result)); diff != "" || result.Ready.Reason != "ChildConflict" {
		t.Errorf("ready %v, children (-want +got):\n%s", result.Ready, diff)
	}
}

// TestFieldPositions says from which line of which template each field is.
func TestFieldPositions(t *testing.T) {
	s := simulator(t, configMaps)
	s.Explain = true
	result, _, _ := settle(t, s, state(t, app))
	for i, c := range result.Children {
		if got := c.Places[".data.text"].String(); got != "children[maps]:6" {
			t.Errorf("child %d: the text is from %q; places %v", i, got, c.Places)
		}
	}
	s = simulator(t, strings.Replace(strings.ReplaceAll(configMaps, "{{ . }}", "{{ . }}, namespace: team"), "- name: maps\n", "- name: node\n    scope: Cluster\n    template: '{apiVersion: v1, kind: Node, metadata: {name: node}}'\n  - name: maps\n    scope: Cluster\n", 1))
	s.Explain = true
	result, _, _ = settle(t, s, state(t, app))
	for i, want := range []string{"children[node]:1", "children[maps]:5", "children[maps]:5"} {
		if got := result.Children[i].Places[".metadata.name"].String(); got != want {
			t.Errorf("child %d, which says where it is: its name is from %q, want %q; places %v", i, got, want, result.Children[i].Places)
		}
	}
	s.Explain = false
	result, _, _ = settle(t, s, state(t, app))
	if places := result.Children[0].Places; places != nil {
		t.Errorf("places without Explain: %v", places)
	}
}

// deep is deeper than the text of an object may be.
func deep() map[string]any {
	out := map[string]any{}
	for range 10001 {
		out = map[string]any{"a": out}
	}
	return out
}

// TestInvalidObjectsEndSimulation have the reconciliations end.
func TestInvalidObjectsEndSimulation(t *testing.T) {
	s := simulator(t, "  related:\n  - {name: maps, apiVersion: v1, kind: ConfigMap}\n  children:\n  - {name: map, template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a{{ len .related.maps }}}}'}\n"+
		"  finalize: {children: [{name: last, template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: last}}'}]}\n")
	broken := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x"}, "data": deep()}
	for why, in := range map[string]State{"a parent": state(t, app), "a parent that is being deleted": settledAndDeleted(t, s, state(t, app))} {
		in.Objects = []map[string]any{broken}
		if _, out, err := s.Settle(in); err == nil || !strings.HasPrefix(err.Error(), "Secret default/x: ") || len(out.Objects) != 1 {
			t.Errorf("children of %s: %v", why, err)
		}
		if _, _, err := s.SettleReady(in, func(string) bool { return true }); err == nil {
			t.Errorf("children of %s, as if ready: no error", why)
		}
	}
	in := state(t, app)
	in.Related = []map[string]any{memserver.Patch(broken, map[string]any{"kind": "ConfigMap"})}
	if _, _, err := s.Settle(in); err == nil || !strings.HasPrefix(err.Error(), "related[maps]: ConfigMap default/x: ") {
		t.Errorf("related objects: %v", err)
	}
	front := simulator(t, "  related:\n  - {name: maps, apiVersion: v1, kind: ConfigMap, namespaceSelector: {matchLabels: {tier: front}}}\n  status: {template: 'maps: {{ len .related.maps }}'}\n")
	in.Related = append(objects(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: default}}"), map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "default"}, "spec": deep()})
	if result, _, err := front.Settle(in); err != nil || result.Status["maps"] != int64(0) {
		t.Errorf("objects of a namespace that cannot be read: %v, status %v", err, result.Status)
	}
	in.Related, in.Parent = nil, memserver.Patch(in.Parent, map[string]any{"spec": deep()})
	if _, _, err := s.Settle(in); err == nil || !strings.HasPrefix(err.Error(), "App one is not a parent: it cannot be read: ") {
		t.Errorf("the parent: %v", err)
	}
}

// TestFailedSelectKeepsChildrenAndStatus has a selection that fails after it was made.
func TestFailedSelectKeepsChildrenAndStatus(t *testing.T) {
	s := simulator(t, strings.ReplaceAll(relates, "yes", `"yes"`)+"  status: {template: 'maps: {{ len .related.settings }}'}\n")
	in := state(t, app)
	in.Related = objects(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, labels: {use: "yes"}}, data: {a: x}}`)
	_, in, _ = settle(t, s, in)
	in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: ""}}`))
	result, out, writes := settle(t, s, in)
	wantWrites(t, writes, ofStatus)
	if len(result.Errors) != 1 || states(result)["copy"] != "is left unchanged: its template cannot be rendered" || Map(out.Parent["status"])["maps"] != int64(1) {
		t.Errorf("faults %q, children %v, status %v", result.Errors, states(result), out.Parent["status"])
	}
}

// TestFailedSelectIsReportedOnce has places asked for, and a readyWhen that reads what nobody knows.
func TestFailedSelectIsReportedOnce(t *testing.T) {
	s := simulator(t, strings.Replace(strings.ReplaceAll(relates, "yes", `"yes"`), "- name: copy\n", "- name: copy\n    readyWhen: not (empty .related.settings)\n", 1))
	in := state(t, app)
	in.Related = objects(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, labels: {use: "yes"}}, data: {a: x}}`)
	result, in, _ := settle(t, s, in)
	if result.Ready.Status != "True" || result.Children[0].Places != nil {
		t.Fatalf("ready %v, places %v", result.Ready, result.Children[0].Places)
	}
	in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: ""}}`))
	s.Explain = true
	result, _, writes := settle(t, s, in)
	wantWrites(t, writes, ofStatus)
	if len(result.Errors) != 1 || !strings.HasPrefix(result.Errors[0], "related[settings].select") || result.Ready.Reason != "TemplateError" {
		t.Errorf("ready %v, faults %q", result.Ready, result.Errors)
	}
}

// TestRelatedNamespaceSelection are selected by name, and by their labels where these are known.
func TestRelatedNamespaceSelection(t *testing.T) {
	for why, row := range map[string]struct {
		fields string
		want   []string
	}{
		"all":                                   {"", []string{"a", "c", "b"}},
		"by name":                               {", namespaces: [one, three]", []string{"a", "c"}},
		"by labels; those of three are unknown": {", namespaceSelector: {matchLabels: {tier: front}}", []string{"a", "c"}},
		"by labels of objects":                  {", labelSelector: {matchLabels: {use: x}}", []string{"b"}},
		"by fields":                             {", fieldSelector: metadata.namespace!=one", []string{"c", "b"}},
		"by fields that are not there":          {", fieldSelector: status.phase=", []string{"a", "c"}},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulator(t, "  related:\n  - {name: maps, apiVersion: v1, kind: ConfigMap, select: '{allNamespaces: true}'"+row.fields+"}\n  status: {template: '{names: {{ collect \"metadata.name\" .related.maps | toJson }}}'}\n")
			in := state(t, app)
			in.Related = objects(t, `{apiVersion: v1, kind: Secret, metadata: {name: two, namespace: one, labels: {tier: front}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: two, labels: {use: x}}, status: {phase: Up}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: three}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: one, labels: {tier: front}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: two, labels: {tier: back}}}`)
			result, _, _ := settle(t, s, in)
			var got []string
			for _, o := range result.Related["maps"] {
				got = append(got, o.Name())
			}
			if diff := cmp.Diff(row.want, got); diff != "" || len(result.Errors) > 0 {
				t.Errorf("faults %q; the templates see (-want +got):\n%s", result.Errors, diff)
			}
		})
	}
}

// TestConditionsInAtomicList has a status that is open.
func TestConditionsInAtomicList(t *testing.T) {
	s := simulator(t, "\n  status: {template: 'a: b'}\n")
	s.parents.Status = &kind.StatusSchema{Atomic: true}
	_, out, _ := settle(t, s, state(t, app))
	if list, _ := Map(out.Parent["status"])["conditions"].([]any); len(list) != 1 {
		t.Errorf("conditions %v, want the ready condition", list)
	}
	in := state(t, app)
	in.Parent = memserver.Patch(in.Parent, data(t, `{status: {conditions: [{type: Theirs, status: "True"}]}}`))
	_, out, _ = settle(t, s, in)
	if diff := cmp.Diff(data(t, `{a: b, conditions: [{type: Theirs, status: "True"}]}`), Map(out.Parent["status"])); diff != "" {
		t.Errorf("beside another manager: status (-want +got):\n%s", diff)
	}
}
