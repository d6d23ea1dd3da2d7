package reconcile

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
)

// controllerOf returns a controller with the template of a child.
func controllerOf(t *testing.T, template string) *controller {
	t.Helper()
	c, r := compile("c", specWith("null", template))
	if r != nil {
		t.Fatal(r.message)
	}
	return &controller{name: "c", program: c.program}
}

// TestKeysFromDataAreNotTold answers the write of a child that holds keys from data.
func TestKeysFromDataAreNotTold(t *testing.T) {
	c := controllerOf(t, "spec:\n  known: 1\n  list: [{ {{- .spec.key }}: 1}]\n  map: {{ .spec.map }}\n")
	content := map[string]any{
		"spec": map[string]any{
			"known": map[string]any{}, "list": []any{map[string]any{secret: map[string]any{"deep": 1}}},
			"map": map[string]any{secret: map[string]any{"known": 1}, secret + ".known": 1, "a b " + secret: 1, secret[:3]: 1},
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
		"a key in brackets":                   {"spec.map[" + secret + "].known", "spec.map[…].known"},
		"a bracket that does not close":       {"spec.list[" + secret, "spec.list[…]"},
		"a key that another one begins with":  {".spec.map." + secret[:3] + "x", ".spec.map." + secret[:3] + "x"},
		"a key with spaces":                   {"spec.map.a b " + secret, "spec.map.…"},
	} {
		if got := c.path(row.path, content); got != row.want {
			t.Errorf("%s: %s is told as %s, want %s", why, row.path, got, row.want)
		}
		asked := c.about(answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret,
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: row.path}), content)
		problem := c.refusal(asked, "update X", kube.Location{}, kind.Kind{})
		if want := "cannot update X: " + row.want + ": required value is missing"; problem.Message != want || problem.Reason != v1.ReasonChildRejected {
			t.Errorf("%s: got %q, want %q", why, problem.Message, want)
		}
	}
}

func TestQuantityIsNamedWithoutKeysFromData(t *testing.T) {
	c := controllerOf(t, "spec:\n  limits: {{ .spec.map }}\n")
	problem := &Problem{Message: "cannot update X: " + badQuantity}
	problem.find(map[string]any{"spec": map[string]any{"limits": map[string]any{secret: "lots"}}}, c.path)
	if want := "cannot update X: .spec.limits.…: " + badQuantity; problem.Message != want {
		t.Errorf("got %q, want %q", problem.Message, want)
	}
}

// TestKeysInWordsOfTheServer finds paths in an answer's text.
func TestKeysInWordsOfTheServer(t *testing.T) {
	c := controllerOf(t, "spec: {known: {{ .spec.map }}}")
	content := map[string]any{"spec": map[string]any{"known": map[string]any{secret: 1, "a ." + secret: 1, "a b": map[string]any{"known": 1}}}}
	for path, want := range map[string]string{
		".spec.known":                  ".spec.known",
		".spec.known." + secret:        ".spec.known.…",
		".spec.known.a ." + secret:     aField,
		".spec.known.a b.known":        aField,
		".spec." + secret + ".unknown": aField,
	} {
		asked := c.about(answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, path+": field not declared in schema"), content)
		got := c.refusal(asked, "update X", kube.Location{}, kind.Kind{}).Message
		if got != "cannot update X: "+want+": the schema has no such field" {
			t.Errorf("%s: got %q", path, got)
		}
	}
}

func TestStepsIntoWhatIsThere(t *testing.T) {
	list := []any{[]any{"a", "b"}, map[string]any{"k": "c"}, "text"}
	for in, want := range map[string][]any{"0": {"a", "c"}, "1": {"b", "c"}, "2": {"c"}, "-1": {"c"}, `name="x"`: {"a", "b", "c"}} {
		if diff := cmp.Diff(want, items(list, in)); diff != "" {
			t.Errorf("[%s] (-want +got):\n%s", in, diff)
		}
	}
}

// TestContestedFieldsTellNoKeysFromData has two TemplateControllers write a field whose name is a value.
func TestContestedFieldsTellNoKeysFromData(t *testing.T) {
	c := newCluster(t)
	c.apply(painter("xs", "color: { {{ .metadata.uid }}: red }"))
	c.apply(app)
	c.settle()
	c.apply(painter("ys", "color: { {{ .metadata.uid }}: blue }"))
	c.settle()
	want := "False FieldOwned: .status.color.… is written by TemplateController xs"
	if got := c.writable("ys"); !strings.HasPrefix(got, want) {
		t.Errorf("condition %q, want %s", got, want)
	}
}

// TestFlapsTellNoKeysFromData writes the same status over and over, with a key from data that changes.
func TestFlapsTellNoKeysFromData(t *testing.T) {
	c := controllerOf(t, "count: {{ .spec.map }}")
	f := newFlaps()
	f.status(nil, map[string]any{"count": map[string]any{secret: int64(1)}}, c.path)
	f.status(nil, map[string]any{"count": map[string]any{}}, c.path)
	if want := ".status.count.…"; len(f.own) != 1 || f.own[0] != want {
		t.Errorf("got %q, want %s", f.own, want)
	}
}

// TestRefusedStatusTellsNoKeysFromData is about the message of the server; contents are told by their hash alone.
func TestRefusedStatusTellsNoKeysFromData(t *testing.T) {
	c := newCluster(t)
	c.apply(painter("xs", "color: { {{ .metadata.uid }}: red }"))
	c.apply(app)
	c.refuse["status apps one"] = answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "",
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "status.color.uid-one"})
	c.run()
	if diff := cmp.Diff([]string{"one Warning StatusRejected: cannot write the status: status.color.…: required value is missing"}, c.events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func TestKeysThatAreTooLongAreToldByTheirPlace(t *testing.T) {
	c := controllerOf(t, "spec: {known: {{ .spec.map }}}")
	long := strings.Repeat("k", 2000)
	for want, content := range map[string]map[string]any{
		"the document holds a key":  {long: 1},
		"spec.known.… holds a key ": {"spec": map[string]any{"known": map[string]any{secret: map[string]any{long: 1}}}},
	} {
		if got := c.keyFault(content); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

func TestTheLongestKeyOfAPathIsFound(t *testing.T) {
	keys := []any{map[string]any{"a": 1, "a.b": 1, "a.b.c": 1, "b": 1, "ab": 1}}
	for path, want := range map[string]string{"a.b.c.d": "a.b.c", "a.b": "a.b", "a.bc": "a", "a[0]": "a", "c": "", ".a": "", "": ""} {
		for range 20 { // maps have no order
			if got := longestKey(keys, path); got != want {
				t.Fatalf("%q: %q, want %q", path, got, want)
			}
		}
	}
}
