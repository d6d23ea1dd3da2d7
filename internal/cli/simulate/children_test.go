package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/memserver"
)

// TestChildStates looks at them after one reconciliation.
func TestChildStates(t *testing.T) {
	const recreated = `
  children:
  - name: map
    updateStrategy: {type: Recreate}
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {text: {{ .spec.text }}}}
`
	const waiting = `
  children:
  - name: db
    template: |
      {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 3}}
  - name: web
    dependsOn: [db]
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
`
	const bad = `
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}}{{ if eq .spec.text "bye" }}{{ fail "no" }}{{ end }}
`
	for why, row := range map[string]struct {
		rest   string
		change func(in *State)
		want   map[string]string
	}{
		"one is being replaced": {recreated, func(in *State) { in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: bye}}`)) }, map[string]string{"map": "does not exist yet"}},
		"one was there before what it waits for": {
			waiting, func(in *State) { in.Objects[0] = memserver.Patch(in.Objects[0], data(t, `{status: null}`)) },
			map[string]string{"db": "0 of 3 replicas are ready", "web": "ready"},
		},
		"its template fails": {bad, func(in *State) { in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: bye}}`)) }, map[string]string{"map": "is left unchanged: its template cannot be rendered"}},
		"being deleted and no longer rendered": {
			configMaps, func(in *State) {
				in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {names: []}}`))
				in.Objects[0], in.Objects = deleted(in.Objects[0], in.Now), in.Objects[:1]
			},
			map[string]string{"a": "being deleted"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulator(t, row.rest)
			_, in, err := s.SettleReady(state(t, app), func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			row.change(&in)
			result, _, err := s.Reconcile(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, states(result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecreatedChildrenGetNewIdentity tells them apart by their UIDs, and counts their lives anew.
func TestRecreatedChildrenGetNewIdentity(t *testing.T) {
	s := simulator(t, `
  children:
  - name: map
    updateStrategy: {type: Recreate}
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {text: {{ .spec.text }}}}
`)
	_, in, _ := settle(t, s, state(t, app))
	in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: bye}}`))
	_, out, writes := settle(t, s, in)
	wantWrites(t, writes, "delete ConfigMap default/map", ofStatus, "create ConfigMap default/map", ofStatus)
	before, after := Map(in.Objects[0]["metadata"]), Map(out.Objects[0]["metadata"])
	if before["uid"] == after["uid"] || after["generation"] != int64(1) || after["creationTimestamp"] != "2026-01-01T12:00:00Z" {
		t.Errorf("before %v, after %v", before, after)
	}
	if Map(in.Objects[0]["data"])["text"] != "hello" {
		t.Error("what was before has changed, too")
	}
}

// TestTerminatingChildrenDoNotBecomeReady has one that a finalizer holds.
func TestTerminatingChildrenDoNotBecomeReady(t *testing.T) {
	s := simulator(t, ordered)
	_, in, _ := settle(t, s, state(t, app))
	in.Objects[0] = deleted(in.Objects[0], in.Now)
	result, out, err := s.SettleReady(in, func(string) bool { return true })
	if err != nil || result.Ready.Status != "False" || states(result)["db"] != "being deleted" || out.Objects[0]["status"] != nil {
		t.Errorf("%v, ready %v, children %v", err, result.Ready, states(result))
	}
}

// TestPublicRemovesTemplaterMetadata lack what templater and the server add.
func TestPublicRemovesTemplaterMetadata(t *testing.T) {
	const whole = `{metadata: {name: a, uid: u, resourceVersion: "1", labels: {own: x, templater.dev/child: maps, app.kubernetes.io/managed-by: templater}, annotations: {templater.dev/hash: x}}, data: {a: b}}`
	in := data(t, whole)
	if diff := cmp.Diff(data(t, `{metadata: {name: a, labels: {own: x}}, data: {a: b}}`), Public(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(data(t, whole), in); diff != "" {
		t.Errorf("the object has changed (-want +got):\n%s", diff)
	}
	other := data(t, `{metadata: {labels: {app.kubernetes.io/managed-by: helm, own: templater}}}`)
	if diff := cmp.Diff(other, Public(other)); diff != "" {
		t.Errorf("of others (-want +got):\n%s", diff)
	}
}
