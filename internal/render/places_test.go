package render

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestPlacesOfFields says where the fields of objects are from, twice: the second time, the output is known already.
func TestPlacesOfFields(t *testing.T) {
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
			for path, line := range map[string]int{".apiVersion": 3, ".kind": 4, ".spec": 5, ".spec.name": 6, ".spec.labels": 7, ".spec.labels.x": 8, ".spec." + name: 9, ".spec." + name + "[0]": 9, ".spec." + name + "[1]": 9, ".spec." + name + "[1].b": 9} {
				want[fmt.Sprint(i, path)] = fmt.Sprint("children[a]:", line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	}
}
