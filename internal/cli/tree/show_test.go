package tree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/lint/report"
)

// shown is a tree with all that there is to show.
var shown = Tree{
	Parent: Object{APIVersion: "example.org/v1", Kind: "App", Name: "one", State: "Waiting"},
	Controllers: []Controller{{
		Name: "apps", Reason: "Waiting", Message: `a waits for b <"x" & y>`,
		Children: []Entry{
			{Name: "b", WaitsFor: []string{}, Objects: []Object{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "team", Name: "b", State: Deleting}}},
			{Name: "a", WaitsFor: []string{"b"}, Objects: []Object{}},
			{WaitsFor: []string{}, Objects: []Object{{APIVersion: "v1", Kind: "Node", Name: `"<n>"`, State: Ready}}},
		},
		Related: []Entry{{Name: "maps", WaitsFor: []string{}, Objects: []Object{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "team", Name: "read"}}}},
		Errors:  []string{"a fault", "a waits for b"}, Waits: []string{"b waits for c", "b"}, Pending: []string{"create ConfigMap team/a", "delete ConfigMap team/b"},
	}},
}

func TestTextOfTree(t *testing.T) {
	const want = `App one: Waiting
└─ TemplateController apps: Waiting: a waits for b <"x" & y>
   ├─ children[b]
   │  └─ ConfigMap team/b: being deleted
   ├─ children[a] depends on children[b]: none
   ├─ children of removed child templates
   │  └─ Node "<n>": ready
   ├─ related[maps]
   │  └─ ConfigMap team/read
   ├─ pending: create ConfigMap team/a; delete ConfigMap team/b
   ├─ error: a fault
   └─ waiting: b waits for c
`
	var b strings.Builder
	if err := Text(&b, report.Colors{}, shown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDOT(t *testing.T) {
	const want = `digraph {
  rankdir=LR
  node [shape=box]
  n0 [label="App one: Waiting"]
  n1 [label="children[b]"]
  n2 [label="ConfigMap team/b: being deleted"]
  n3 [label="children[a]"]
  n4 [label="children of removed child templates"]
  n5 [label="Node \"<n>\": ready"]
  n6 [label="related[maps]"]
  n7 [label="ConfigMap team/read"]
  n0 -> n1 [label="apps", style=solid]
  n1 -> n2 [label="", style=solid]
  n0 -> n3 [label="apps", style=solid]
  n0 -> n4 [label="apps", style=solid]
  n4 -> n5 [label="", style=solid]
  n3 -> n1 [label="depends on", style=dashed]
  n0 -> n6 [label="apps", style=dashed]
  n6 -> n7 [label="", style=dashed]
}
`
	var b strings.Builder
	if err := DOT(&b, shown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMermaid(t *testing.T) {
	const want = `flowchart LR
  n0["App one: Waiting"]
  n1["children[b]"]
  n2["ConfigMap team/b: being deleted"]
  n3["children[a]"]
  n4["children of removed child templates"]
  n5["Node #quot;#lt;n>#quot;: ready"]
  n6["related[maps]"]
  n7["ConfigMap team/read"]
  n0 -->|apps| n1
  n1 --> n2
  n0 -->|apps| n3
  n0 -->|apps| n4
  n4 --> n5
  n3 -.->|depends on| n1
  n0 -.->|apps| n6
  n6 -.-> n7
`
	var b strings.Builder
	if err := Mermaid(&b, shown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := JSON(&b, shown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n  \"parent\": {\n", `"message": "a waits for b <\"x\" & y>"`, `"state": "being deleted"`, `"dependsOn": [`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
