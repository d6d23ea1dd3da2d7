package simulate

import (
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/kube/memserver"
)

const needsMore = `
  children:
  - name: db
    readyWhen: eq (.object.data).phase "Up"
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: db}, data: {for: {{ .spec.text }}}}
  - name: web
    dependsOn: [db]
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
`

// TestAssumedReadinessSkipsReadyWhen has an entry that wants more of its objects than a status that is made up can have.
func TestAssumedReadinessSkipsReadyWhen(t *testing.T) {
	s := simulator(t, needsMore)
	result, in, writes := settle(t, s, state(t, app))
	if result.Ready.Status != "False" || slices.Contains(writes, "create ConfigMap default/web") {
		t.Fatalf("as it is: ready %v, writes %v", result.Ready, writes)
	}
	db := func(entry string) bool { return entry == "db" }
	result, in, err := s.SettleReady(in, db)
	if err != nil || result.Ready.Status != "True" || len(in.Objects) != 2 {
		t.Fatalf("as if ready: %v, ready %v, %d objects", err, result.Ready, len(in.Objects))
	}
	if result, _, _ = settle(t, s, in); result.Ready.Status != "True" {
		t.Errorf("afterwards: ready %v", result.Ready)
	}
	changed := in.copy()
	changed.Parent = memserver.Patch(in.Parent, map[string]any{"spec": map[string]any{"text": "bye"}})
	if result, _, _ := settle(t, s, changed); result.Ready.Status != "False" {
		t.Errorf("another template's text: ready %v", result.Ready)
	}
	if result, _, err := s.SettleReady(changed, db); err != nil || result.Ready.Status != "True" {
		t.Errorf("another template's text, as if ready: %v, ready %v", err, result.Ready)
	}
	seen := in.copy()
	seen.Objects[0] = memserver.Patch(seen.Objects[0], map[string]any{"data": map[string]any{"phase": "Down"}})
	if result, _, _ := settle(t, s, seen); result.Ready.Status != "False" {
		t.Errorf("an object with a failing status is assumed ready: %v", result.Ready)
	}
}

// TestOwnLabelsDoNotAffectReadiness renames an entry, whose objects get another label and stay as they were.
func TestOwnLabelsDoNotAffectReadiness(t *testing.T) {
	s := simulator(t, needsMore)
	_, in, err := s.SettleReady(state(t, app), func(entry string) bool { return entry == "db" })
	if err != nil {
		t.Fatal(err)
	}
	renamed := simulator(t, strings.ReplaceAll(strings.Replace(needsMore, "- name: db\n", "- name: base\n", 1), "[db]", "[base]"))
	result, out, _ := settle(t, renamed, in)
	label := Map(Map(out.Objects[0]["metadata"])["labels"])["templater.dev/child"]
	if result.Ready.Status != "True" || label != "base" {
		t.Errorf("ready %v, the label is %v", result.Ready, label)
	}
}
