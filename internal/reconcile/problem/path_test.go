package problem

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// authorOf returns the Author of a child template.
func authorOf(t *testing.T, template string) Author {
	t.Helper()
	program, err := render.Compile(render.Source{Controller: "c", Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + template}}})
	if err != nil {
		t.Fatal(err)
	}
	return program.Wrote
}

// TestPathsOmitKeysFromData rejects the write of a child that contains keys from data.
func TestPathsOmitKeysFromData(t *testing.T) {
	author := authorOf(t, "spec:\n  known: 1\n  list: [{ {{- .spec.key }}: 1}]\n  lists: [[{ {{- .spec.key }}: 1}]]\n  map: {{ .spec.map }}\n")
	content := map[string]any{
		"spec": map[string]any{
			"known": map[string]any{}, "list": []any{map[string]any{secret: map[string]any{"deep": 1}}},
			"lists": []any{[]any{map[string]any{secret: 1}}},
			"map":   map[string]any{"deployment.kubernetes.io/revision": 1, "mine.kubernetes.io/" + secret: 1, secret: map[string]any{"known": 1}, secret + ".known": 1, "a b " + secret: 1, secret[:3]: 1},
		},
	}
	for why, row := range map[string]struct{ path, want string }{
		"what the author wrote":               {"spec.known.typo", "spec.known.typo"},
		"what is not there is of the schema":  {"spec.missing.field", "spec.missing.field"},
		"a key of a map that is printed":      {".spec.map." + secret, ".spec.map.…"},
		"a key below":                         {".spec.map." + secret + ".known", ".spec.map.…"},
		"below a key":                         {".spec.map." + secret + ".known.x", ".spec.map.….x"},
		"the keys of a list item are a value": {`.spec.list[name="` + secret + `"].` + secret + ".deep", ".spec.list[…].….…"},
		"an item of a list":                   {"spec.list[0]." + secret, "spec.list[0].…"},
		"an item of a list of lists":          {"spec.lists[0][0]." + secret, "spec.lists[0][0].…"},
		"a key in brackets":                   {"spec.map[" + secret + "].known", "spec.map[…].known"},
		"a bracket that does not close":       {"spec.list[" + secret, "spec.list[…]"},
		"a key that another one begins with":  {".spec.map." + secret[:3] + "x", ".spec.map." + secret[:3] + "x"},
		"a key of Kubernetes itself":          {".spec.map.deployment.kubernetes.io/revision", ".spec.map.deployment.kubernetes.io/revision"},
		"a key like one of Kubernetes":        {".spec.map.mine.kubernetes.io/" + secret, ".spec.map.…"},
		"a key with spaces":                   {"spec.map.a b " + secret, "spec.map.…"},
	} {
		if got := author.Path(row.path, content); got != row.want {
			t.Errorf("%s: %s is told as %s, want %s", why, row.path, got, row.want)
		}
		asked := author.About(answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret,
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: row.path}), content)
		if got, want := PublicReason(asked), row.want+": required value is missing"; got != want {
			t.Errorf("%s: got %q, want %q", why, got, want)
		}
	}
}

// TestPathsInServerMessagesOmitKeysFromData looks for paths in the text of a response.
func TestPathsInServerMessagesOmitKeysFromData(t *testing.T) {
	author := authorOf(t, "spec: {known: {{ .spec.map }}}")
	content := map[string]any{"spec": map[string]any{"known": map[string]any{secret: 1, "a ." + secret: 1, "a b": map[string]any{"known": 1}}}}
	for path, want := range map[string]string{
		".spec.known":                  ".spec.known",
		".spec.known." + secret:        ".spec.known.…",
		".spec.known.a ." + secret:     aField,
		".spec.known.a b.known":        aField,
		".spec." + secret + ".unknown": aField,
	} {
		asked := author.About(answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, path+": field not declared in schema"), content)
		if got := PublicReason(asked); got != want+": the schema has no such field" {
			t.Errorf("%s: got %q", path, got)
		}
	}
}

func TestItemsSelectsListElements(t *testing.T) {
	list := []any{[]any{"a", "b"}, map[string]any{"k": "c"}, "text"}
	for in, want := range map[string][]any{"0": {"a", "c"}, "1": {"b", "c"}, "2": {"c"}, "-1": {"c"}, `name="x"`: {"a", "b", "c"}} {
		if diff := cmp.Diff(want, items(list, in)); diff != "" {
			t.Errorf("[%s] (-want +got):\n%s", in, diff)
		}
	}
}

func TestLongestKeyOfPath(t *testing.T) {
	keys := []any{map[string]any{"a": 1, "a.b": 1, "a.b.c": 1, "b": 1, "ab": 1}}
	for path, want := range map[string]string{"a.b.c.d": "a.b.c", "a.b": "a.b", "a.bc": "a", "a[0]": "a", "c": "", ".a": "", "": ""} {
		for range 20 { // maps are unordered
			if got := longestKey(keys, path); got != want {
				t.Fatalf("%q: %q, want %q", path, got, want)
			}
		}
	}
}
