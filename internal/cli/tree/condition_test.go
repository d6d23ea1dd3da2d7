package tree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

const ending = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children: [{name: map, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: map}}"}]
  finalize: {children: [{name: backup, template: "{apiVersion: batch/v1, kind: Job, metadata: {name: backup}}"}]}
---
apiVersion: example.org/v1
kind: App
metadata: {name: one, namespace: default, uid: u, deletionTimestamp: "2026-01-01T00:00:00Z"}
STATUS
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: backup, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: backup, templater.dev/parent-uid: u}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: others, namespace: default, labels: {templater.dev/controller: other, templater.dev/child: map, templater.dev/parent-uid: u}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: another, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: v}}
`

// TestDeletedParentMessage shows what there is, and what the parent says of itself.
func TestDeletedParentMessage(t *testing.T) {
	for why, row := range map[string]struct{ status, want string }{
		"waiting condition":            {"status: {conditions: [{type: Other, status: 'False', reason: No}, {type: Ready, status: 'False', reason: Finalizing, message: waits}]}", "Finalizing: waits"},
		"no condition":                 {"", "Deleting: the parent is being deleted"},
		"outdated condition":           {"status: {conditions: [{type: Ready, status: 'True', reason: Ready, message: all is well}]}", "Deleting: the parent is being deleted"},
		"its condition is another one": {"status: {conditions: [{type: Other, status: 'False', reason: No, message: no}]}", "Deleting: the parent is being deleted"},
	} {
		t.Run(why, func(t *testing.T) {
			parent, c := grown(t, strings.NewReplacer("STATUS", row.status, "  children: [{", "  children: [{name: none, template: ' '}, {").Replace(ending))
			var b strings.Builder
			if err := Text(&b, report.Colors{}, NewParent(parent, []Controller{c})); err != nil {
				t.Fatal(err)
			}
			want := "App default/one: being deleted\n└─ TemplateController apps: " + row.want + `
   ├─ children[none]: none
   ├─ children[map]
   │  └─ ConfigMap default/map: ready
   └─ children[backup]
      └─ Job default/backup: not started yet
`
			if diff := cmp.Diff(want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRejectedControllerShowsChildrenByOwnState show their children by what these say themselves.
func TestRejectedControllerShowsChildrenByOwnState(t *testing.T) {
	set := load(t, strings.Replace(ending, "STATUS", "", 1))
	tc, why := set.Controllers[0].TemplateController, &spec.Rejection{Reason: "InvalidSpec", Message: "no"}
	var objects []map[string]any
	for _, o := range set.Objects[1:] {
		objects = append(objects, o.Content)
	}
	c := Rejected(tc, why, set.Objects[0].Content, objects)
	if c.Ready || c.Reason != "InvalidSpec" || c.Message != "no" || len(c.Children) != 2 || c.Children[0].Name != "map" || c.Children[1].Objects[0].State != "not started yet" {
		t.Errorf("%+v", c)
	}
	nameless := map[string]any{"metadata": map[string]any{"name": "one"}}
	if c := Rejected(tc, why, nameless, append(objects, map[string]any{"metadata": map[string]any{"labels": map[string]any{"templater.dev/controller": "apps", "templater.dev/parent-uid": ""}}})); len(c.Children) > 0 {
		t.Errorf("a parent without a UID has no children: %+v", c)
	}
}

// TestParentStateIsFirstNotReadyController of a parent with several TemplateControllers.
func TestParentStateIsFirstNotReadyController(t *testing.T) {
	parent := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n"}}
	for _, row := range []struct {
		all  []Controller
		want string
	}{
		{[]Controller{{Ready: true}, {Reason: "A"}, {Reason: "B"}}, "A"},
		{[]Controller{{Ready: true, Reason: "Ready"}}, Ready},
		{nil, Ready},
	} {
		if got := NewParent(parent, row.all).Parent; got.State != row.want || got.id() != "Node n" {
			t.Errorf("%+v, want %s", got, row.want)
		}
	}
}
