package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/validate"
)

var validationObjects = flag.Int("validation-objects", 12, "changed objects of each kind that TestOfflineValidationEqualsAPIServer draws")

// equalVerdicts is the share of objects of a kind for which the offline commands and the API server must have the same verdict.
const equalVerdicts = 0.95

// sample is a changed object with both verdicts.
type sample struct {
	change  string
	content map[string]any
	before  map[string]any // nil = it is created
	server  error
	offline error
	skipped bool // the server did not judge the object alone
}

// checkedKind is a kind with a valid object.
type checkedKind struct {
	base    map[string]any
	in      dynamic.ResourceInterface
	samples []*sample
}

// TestOfflineValidationEqualsAPIServer changes valid objects at random, and compares what the offline commands say about them with server-side dry
// runs. The commands must not refuse what the server accepts.
func TestOfflineValidationEqualsAPIServer(t *testing.T) {
	parallel(t)
	s := newScope(t)
	definition := s.expand(readFile(t, "testdata/validation-crd.yaml"))
	s.apply(definition)
	validators := simulate.NewValidators(readDefinition(t, definition))
	seed := randomSeed(t)
	var kinds []*checkedKind
	for text := range strings.SplitSeq(s.expand(readFile(t, "testdata/validation.yaml")), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(o.Object)
		if err != nil || json.Unmarshal(text, o) != nil { // whole numbers are int64
			t.Fatal(err)
		}
		in, _, err := s.interfaceFor(o)
		if err != nil {
			t.Fatal(err)
		}
		s.apply(string(text))
		kinds = append(kinds, newCheckedKind(o.Object, in, rand.New(rand.NewPCG(seed, uint64(len(kinds))))))
	}
	var group sync.WaitGroup
	for _, k := range kinds {
		group.Go(func() {
			for _, each := range k.samples {
				k.ask(t, s.manager, each)
				each.offline = validators.Refusal(validate.Write{Sent: each.content, Before: each.before, After: each.content, Whole: true})
			}
		})
	}
	group.Wait()
	for _, k := range kinds {
		k.compare(t)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readDefinition(t *testing.T, text string) (kind.Declared, openapi.Set) {
	t.Helper()
	var content map[string]any
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(text), definition); err != nil {
		t.Fatal(err)
	}
	return kind.Declared{content}, openapi.FromCRD(definition)
}

// newCheckedKind changes the object. Every other changed object is an update of it.
func newCheckedKind(base map[string]any, in dynamic.ResourceInterface, random *rand.Rand) *checkedKind {
	k := &checkedKind{base: base, in: in}
	for i := range *validationObjects {
		content := runtime.DeepCopyJSON(base)
		each := &sample{before: base}
		if i%2 == 0 {
			metadata := content["metadata"].(map[string]any)
			each.before, metadata["name"] = nil, metadata["name"].(string)+"-new"
		}
		m := mutator{Rand: random, updates: each.before != nil}
		for each.change == "" || random.IntN(4) == 0 { // sometimes several changes
			each.change += m.change(content) + "; "
		}
		each.content = content
		k.samples = append(k.samples, each)
	}
	return k
}

// ask gets the verdict of the server.
func (k *checkedKind) ask(t *testing.T, manager string, each *sample) {
	body, err := json.Marshal(each.content)
	if err != nil {
		t.Error(err)
		return
	}
	name, _, _ := unstructured.NestedString(each.content, "metadata", "name")
	force := true
	options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, Force: &force, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}
	_, each.server = k.in.Patch(t.Context(), name, types.ApplyPatchType, body, options)
	status, isStatus := each.server.(apierrors.APIStatus)
	switch {
	case each.server == nil:
	case !isStatus:
		each.skipped = true // the client does not send it
	default: // others are about other objects, such as a missing PriorityClass
		code := status.Status().Code
		each.skipped = code != http.StatusUnprocessableEntity && code != http.StatusBadRequest && code != http.StatusInternalServerError
	}
}

// compare reports false refusals, and too many missed ones.
func (k *checkedKind) compare(t *testing.T) {
	t.Helper()
	compared, equal, refused := 0, 0, 0
	for _, each := range k.samples {
		if each.skipped {
			continue
		}
		compared++
		if each.server != nil {
			refused++
		}
		switch {
		case (each.server == nil) == (each.offline == nil):
			equal++
		case each.server == nil:
			t.Errorf("%s: refused offline, but not by the API server: %s\n%v", k.base["kind"], each.change, each.offline)
		default:
			t.Logf("%s: accepted offline: %s\n%v", k.base["kind"], each.change, each.server)
		}
	}
	t.Logf("%s: %d of %d verdicts are equal, %d refusals", k.base["kind"], equal, compared, refused)
	if float64(equal) < equalVerdicts*float64(compared)-1 { // one may be wrong in a short run
		t.Errorf("%s: too few verdicts are equal", k.base["kind"])
	}
}

// mutator changes objects.
type mutator struct {
	*rand.Rand
	updates bool // the object is an update of a valid one
}

// change changes a random field of an object, and says how.
func (m mutator) change(content map[string]any) string {
	var places []place
	collect("", content, &places)
	if len(places) == 0 {
		return "nothing is left"
	}
	p := places[m.IntN(len(places))]
	was := p.get()
	switch v := was.(type) {
	case string:
		return p.path + m.replace(p, "", "Bad_Name", "a b", "-a", "UPPER", "10", "x.y/z", strings.Repeat("x", 70), int64(1), true, "Other", v+"x")
	case int64:
		return p.path + m.replace(p, int64(-1), int64(0), v+1, int64(70000), int64(3_000_000_000), "three", fmt.Sprint(v), true, 1.5)
	case bool:
		return p.path + m.replace(p, !v, "true", int64(1))
	case []any:
		return p.path + m.changeList(p, v)
	case map[string]any:
		return p.path + m.changeMap(p, v)
	}
	return p.path + " is kept"
}

func (m mutator) replace(p place, values ...any) string {
	if m.IntN(4) == 0 && p.remove != nil {
		p.remove()
		return " is removed"
	}
	v := values[m.IntN(len(values))]
	p.set(v)
	return fmt.Sprintf(" = %#v", v)
}

func (m mutator) changeList(p place, v []any) string {
	switch {
	case m.IntN(3) == 0 && len(v) > 0:
		p.set(append(slices.Clone(v), runtime.DeepCopyJSONValue(v[0])))
		return " has its first item twice"
	case m.IntN(3) == 0 && len(v) > 0:
		p.set(v[1:])
		return " loses its first item"
	}
	return m.replace(p, []any{}, "text", map[string]any{"a": "b"}, []any{"text"})
}

func (m mutator) changeMap(p place, v map[string]any) string {
	keys := slices.Sorted(maps.Keys(v))
	switch {
	case m.IntN(3) == 0:
		v["unknownField"] = "x"
		return " gets an unknown field"
	case m.IntN(3) == 0 && len(keys) > 0:
		key := keys[m.IntN(len(keys))]
		v[key+"s"] = v[key]
		delete(v, key)
		return "." + key + " is misspelt"
	}
	if m.updates { // an apply that removes all fields of a map removes the map
		return m.replace(p, "text", []any{"a"}, int64(1))
	}
	return m.replace(p, map[string]any{}, "text", []any{"a"}, int64(1))
}

// place is a value in an object.
type place struct {
	path   string
	get    func() any
	set    func(any)
	remove func() // nil = it is an item of a list
}

// collect returns the places of all values of an object but those that identify it.
func collect(path string, v any, places *[]place) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := path + "." + key
			if at == ".apiVersion" || at == ".kind" || at == ".metadata.name" || at == ".metadata.namespace" {
				continue
			}
			if at != ".metadata" {
				*places = append(*places, place{at, func() any { return v[key] }, func(to any) { v[key] = to }, func() { delete(v, key) }})
			}
			collect(at, v[key], places)
		}
	case []any:
		for i := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			*places = append(*places, place{at, func() any { return v[i] }, func(to any) { v[i] = to }, nil})
			collect(at, v[i], places)
		}
	}
}
