package tree

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
)

// grown reads a TemplateController, a parent and its objects, in that order, and returns the parent and how it stands.
func grown(t *testing.T, text string) (parent map[string]any, c Controller) {
	t.Helper()
	set := load(t, text)
	tc := set.Controllers[0].TemplateController
	checked := lint.Check(tc, nil)
	s, rejection := simulate.New(tc, checked.Compiled, nil, nil)
	if rejection != nil {
		t.Fatal(rejection.Message)
	}
	parent = set.Objects[0].Content
	c, err := Of(tc, checked.Compiled, s, simulate.State{Parent: parent, Objects: manifest.Contents(set.Objects[1:]), Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return parent, c
}

func load(t *testing.T, text string) *manifest.Set {
	t.Helper()
	set, err := manifest.Load([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestTreeShowsPendingChanges has a child that is missing, one that is out of date, one that nobody wants, and a template that fails.
func TestTreeShowsPendingChanges(t *testing.T) {
	parent, c := grown(t, `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: map
    template: |
      {{- range list "new" "old" }}
      ---
      {apiVersion: v1, kind: ConfigMap, metadata: {name: {{ . }}}, data: {text: now}}
      {{- end }}
  status: {template: "{{ .spec.text.length }}"}
---
{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: default, uid: u}, spec: {text: short}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
data: {text: then}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
`)
	var b strings.Builder
	if err := Text(&b, report.Colors{}, NewParent(parent, []Controller{c})); err != nil {
		t.Fatal(err)
	}
	want := `App default/one: TemplateError
└─ TemplateController apps: TemplateError: status:1:4: a string has no fields, so it has no .length
   ├─ children[map]
   │  ├─ ConfigMap default/new: does not exist yet
   │  ├─ ConfigMap default/old: not updated yet
   │  └─ ConfigMap default/gone: to be deleted
   └─ pending: create ConfigMap default/new; update ConfigMap default/old; delete ConfigMap default/gone
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMissingChildIsNotReady(t *testing.T) {
	const configMap = `  - {name: map, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}"}`
	for why, row := range map[string]struct {
		children string
		missing  int
	}{
		"valid child that does not exist yet":                            {configMap, 1},
		"one child would be ready at once, and another one would not be": {configMap + "\n" + `  - {name: pod, template: "{apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {containers: [{name: c, image: example.org/c}]}}"}`, 2},
	} {
		t.Run(why, func(t *testing.T) {
			_, c := grown(t, `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
`+row.children+`
---
{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: default, uid: u}}
`)
			if want := fmt.Sprint("children that templater has not written or deleted yet: ", row.missing); c.Ready || c.Reason != "Progressing" || c.Message != want {
				t.Errorf("ready %v, %s: %s, want %s", c.Ready, c.Reason, c.Message, want)
			}
		})
	}
}

// TestParentStatusTakesPrecedence has a parent whose status says something else than a reconciliation would.
func TestParentStatusTakesPrecedence(t *testing.T) {
	const text = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children: [{name: map, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}"}]
---
apiVersion: example.org/v1
kind: App
metadata: {name: one, namespace: default, uid: u, generation: 2}
status: {conditions: [{type: Ready, status: STATUS, reason: REASON, message: MESSAGE, observedGeneration: SEEN}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
`
	for why, row := range map[string]struct{ status, reason, message, seen, name, want string }{
		"all is done": {"'True'", "Ready", "all is well", "2", "new", "App default/one: ready\n└─ TemplateController apps: ready\n   └─ children[map]\n      └─ ConfigMap default/new: ready\n"},
		"problems that only the operator detects": {
			"'False'", "ChildForbidden", "no permission", "2", "new",
			"App default/one: ChildForbidden\n└─ TemplateController apps: ChildForbidden: no permission\n   └─ children[map]\n      └─ ConfigMap default/new: ready\n",
		},
		"a reconciliation is due": {
			"'True'", "Ready", "all is well", "1", "old",
			"App default/one: ready\n└─ TemplateController apps: ready\n   ├─ children[map]\n   │  ├─ ConfigMap default/new: does not exist yet\n   │  └─ ConfigMap default/old: to be deleted\n" +
				"   └─ pending: create ConfigMap default/new; delete ConfigMap default/old; the status is stale: observedGeneration is 1, metadata.generation is 2\n",
		},
	} {
		t.Run(why, func(t *testing.T) {
			parent, c := grown(t, strings.NewReplacer("STATUS", row.status, "REASON", row.reason, "MESSAGE", row.message, "SEEN", row.seen, "NAME", row.name).Replace(text))
			var b strings.Builder
			if err := Text(&b, report.Colors{}, NewParent(parent, []Controller{c})); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTreeShowsOrphans has a child that nobody wants and that stays, and an object that only looks like what is to be made.
func TestTreeShowsOrphans(t *testing.T) {
	_, c := grown(t, `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related: [{name: maps, apiVersion: v1, kind: ConfigMap, select: "name: left"}]
  children: [{name: map, prunePolicy: Orphan, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}{{ if .related.maps }}{{ end }}"}]
  status: {readyCondition: ""}
---
{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: default, uid: u}, status: {conditions: [{type: "", status: "False", reason: No}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: new, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: left, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
`)
	want := []Entry{{Name: "map", WaitsFor: []string{}, Objects: []Object{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "new", State: "ready"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "left", State: "no longer rendered"},
	}}}
	if diff := cmp.Diff(want, c.Children); diff != "" || !c.Ready || len(c.Pending) > 0 {
		t.Errorf("ready %v, yet to do %q; children (-want +got):\n%s", c.Ready, c.Pending, diff)
	}
	related := []Object{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "left"}}
	if diff := cmp.Diff(related, c.Related[0].Objects); diff != "" {
		t.Errorf("related (-want +got):\n%s", diff)
	}
}

// TestEachObjectIsShownOnce has a child that is to be replaced, one without a namespace that nobody wants, and an entry that yields nothing.
func TestEachObjectIsShownOnce(t *testing.T) {
	_, c := grown(t, `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - {name: none, dependsOn: [map], template: "{{ if .spec.none }}{apiVersion: v1, kind: ConfigMap, metadata: {name: none}}{{ end }}"}
  - {name: map, updateStrategy: {type: Recreate}, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {text: now}}"}
---
{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: default, uid: u, generation: 3}, status: {conditions: [{type: Ready, status: "True", reason: Ready, message: all}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map, namespace: default, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
data: {text: then}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone, labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}}
`)
	of := func(name, state string) Object {
		return Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name, State: state}
	}
	want := []Entry{
		{Name: "none", WaitsFor: []string{"map"}, Objects: []Object{}},
		{Name: "map", WaitsFor: []string{}, Objects: []Object{of("map", "to be deleted"), of("gone", "to be deleted")}},
	}
	if diff := cmp.Diff(want, c.Children); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"delete ConfigMap default/map", "delete ConfigMap default/gone"}, c.Pending); diff != "" || !c.Ready {
		t.Errorf("ready %v, yet to do (-want +got):\n%s", c.Ready, diff)
	}
}

// The children of a suspended parent are shown, and nothing is pending except its condition.
func TestTreeOfSuspendedParent(t *testing.T) {
	_, c := grown(t, `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: new}}
---
apiVersion: example.org/v1
kind: App
metadata: {name: one, namespace: ns, uid: u, annotations: {templater.dev/suspend: "true"}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: old
  namespace: ns
  labels: {templater.dev/controller: apps, templater.dev/child: map, templater.dev/parent-uid: u}
  ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: u, controller: true}]
`)
	want := []Object{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "old", State: "is left unchanged: its parent is suspended"}}
	if len(c.Pending) > 0 || c.Ready || c.Reason != "Suspended" || len(c.Errors) > 0 {
		t.Errorf("tree %+v", c)
	}
	if diff := cmp.Diff(want, c.Children[0].Objects); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
}
