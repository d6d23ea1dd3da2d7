package render

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestFieldPositions says where the fields of objects are from, twice: the second time, the output is known already.
func TestFieldPositions(t *testing.T) {
	p, err := Compile(Source{
		Helpers:  "{{ define \"labels\" }}\nx: z\n{{ end }}",
		Children: []syntax.Template{{Name: "a", Text: "{{ range .spec.n }}\n---\napiVersion: v1\nkind: A\nspec:\n  name: {{ . }}\n  labels:\n    {{ include \"labels\" $ | nindent 4 }}\n  {{ . }}: [1, {b: {{ . }}}]\n{{ end }}"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := map[string]string{}
		in := &Input{Parent: map[string]any{"spec": map[string]any{"n": []any{"one", "two"}}}, Place: func(object int, path, template string, line int) {
			got[fmt.Sprint(object, path)] = fmt.Sprint(template, ":", line)
		}}
		if _, err := p.Child("a", in); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for i, name := range []string{"one", "two"} {
			for path, line := range map[string]int{".apiVersion": 3, ".kind": 4, ".spec": 5, ".spec.name": 6, ".spec.labels": 7, ".spec." + name: 9, ".spec." + name + "[0]": 9, ".spec." + name + "[1]": 9, ".spec." + name + "[1].b": 9} {
				want[fmt.Sprint(i, path)] = fmt.Sprint("children[a]:", line)
			}
			want[fmt.Sprint(i, ".spec.labels.x")] = "helpers:2"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	}
}

// TestIncludedTextPositions has helpers that include each other, are indented, and are printed where the same lines stand, too.
func TestIncludedTextPositions(t *testing.T) {
	p, err := Compile(Source{
		Helpers: "{{ define \"labels\" }}\nx: {{ .name }}\n{{ include \"more\" . }}\n{{ end }}\n{{ define \"more\" }}y: z\nw:\n- v\n{{ end }}\n{{ define \"other\" }}y: z\nu: t\n{{ end }}",
		Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: A\none:\n  {{- include \"labels\" .metadata | nindent 2 }}\ntwo:\n  {{- include \"labels\" .metadata | trim | nindent 2 }}\nthree: {{ include \"more\" . | fromYaml | toJson }}\n"},
			{Name: "b", Text: "apiVersion: v1\nkind: B\none:\n  {{- include \"more\" . | nindent 2 }}\ntwo:\n  {{- include \"other\" . | nindent 2 }}\n"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for child, want := range map[string]map[string]string{
		"a": {
			".apiVersion": "children[a]:1", ".kind": "children[a]:2", ".one": "children[a]:3", ".two": "children[a]:5", ".three": "children[a]:7",
			".three.w": "children[a]:7", ".three.w[0]": "children[a]:7", ".three.y": "children[a]:7",
			".one.x": "helpers:2", ".one.y": "helpers:5", ".one.w": "helpers:6", ".one.w[0]": "helpers:7",
			".two.x": "helpers:2", ".two.y": "helpers:5", ".two.w": "helpers:6", ".two.w[0]": "helpers:7",
		},
		// A line that stands in two helpers tells no more than who has called them.
		"b": {
			".apiVersion": "children[b]:1", ".kind": "children[b]:2", ".one": "children[b]:3", ".two": "children[b]:5",
			".one.y": "children[b]:4", ".one.w": "helpers:6", ".one.w[0]": "helpers:7", ".two.y": "children[b]:6", ".two.u": "helpers:10",
		},
	} {
		got := map[string]string{}
		in := &Input{Parent: map[string]any{"metadata": map[string]any{"name": "n"}}, Place: func(_ int, path, template string, line int) {
			got[path] = fmt.Sprint(template, ":", line)
		}}
		if _, err := p.Child(child, in); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("places in %s (-want +got):\n%s", child, diff)
		}
	}
}
