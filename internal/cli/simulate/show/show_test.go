package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli/simulate"
)

// TestPositionCommentsKeepValues adds comments to values of all sorts.
func TestPositionCommentsKeepValues(t *testing.T) {
	object := map[string]any{
		"plain": "a", "long": strings.Repeat("many words ", 40), "several": "a\nb # c\n  d\n", "quoted": "a: b # c", "list": []any{"a", map[string]any{"b": []any{}, "c": map[string]any{}}, []any{"d"}},
		"trailing": "a\n\n", "spaces": "  a\n b", "tab": "\ta\n" + strings.Repeat("long ", 50), "quotes": strings.Repeat("'\"\t ", 60), "empty": "", "nothing": nil, "number": 1.5, "x.y/z": true,
	}
	places := map[string]simulate.Place{}
	content, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := linePaths(content)
	if err != nil {
		t.Fatal(err)
	}
	for line, path := range paths {
		places[path] = simulate.Place{Template: "children[a]", Line: line}
	}
	var b bytes.Buffer
	if err := annotated(&b, object, places); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v:\n%s", err, b.String())
	}
	if diff := cmp.Diff(object, got); diff != "" {
		t.Errorf("object (-want +got):\n%s\n%s", diff, b.String())
	}
	if !strings.Contains(b.String(), "plain: a # children[a]:") {
		t.Errorf("no comments in\n%s", b.String())
	}
}
