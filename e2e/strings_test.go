package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mirrored copies every text of its parent to all places where texts and keys are allowed.
const mirrored = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: map
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ .metadata.name }}
      annotations: {{ toYaml .spec.texts | nindent 4 }}
    data: {{ toYaml .spec.texts | nindent 2 }}
- name: bag
  template: |
    apiVersion: @group/v1
    kind: Bag
    metadata: {name: {{ .metadata.name }}}
    spec:
      keys: {{ toYaml .spec.keys | nindent 4 }}
      list: {{ toJson (values .spec.texts) }}
      one: {{ .spec.texts.t0 }}
      quoted: "a: {{ .spec.texts.t0 }}"
status:
  template: |
    texts: {{ toYaml .spec.texts | nindent 2 }}
    keys: {{ toYaml .spec.keys | nindent 2 }}
`

// TestUnusualStringsAreWrittenUnchanged sends random Unicode text through the API server: into children, their
// annotations and keys, and the parent's status.
func TestUnusualStringsAreWrittenUnchanged(t *testing.T) {
	parallel(t)
	const parents, each = 20, 500
	random := rand.New(rand.NewPCG(randomSeed(t), 0))
	startOperator(t)
	s := newScope(t)
	s.defineThing()
	s.define("Bag", "Namespaced")
	s.controller(mirrored)
	specs := map[string]map[string]any{}
	for i := range parents {
		name := fmt.Sprintf("p-%d", i)
		texts, keys := map[string]any{}, map[string]any{}
		for j := range each {
			text := randomText(random)
			texts[fmt.Sprintf("t%d", j)] = text
			if text != "" {
				keys[text] = fmt.Sprint(j)
			}
		}
		specs[name] = map[string]any{"texts": texts, "keys": keys}
		thing := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": s.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": name}, "spec": specs[name],
		}}
		if _, err := s.things().Create(t.Context(), thing, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, spec := range specs {
		thing := waitFor(t, s.things(), name, ready)
		if err := same(name+", its spec as the server has it", spec, thing.Object["spec"]); err != nil {
			t.Fatal(err)
		}
		status, _ := thing.Object["status"].(map[string]any)
		delete(status, "conditions")
		child := waitFor(t, s.in(configMaps), name, nil)
		annotations := map[string]any{}
		for key, value := range child.GetAnnotations() {
			if _, ours := spec["texts"].(map[string]any)[key]; ours {
				annotations[key] = value
			}
		}
		bag := waitFor(t, s.in(s.resource("bags")), name, nil)
		for what, pair := range map[string][2]any{
			"status":      {spec, status},
			"data":        {spec["texts"], child.Object["data"]},
			"annotations": {spec["texts"], annotations},
			"bag":         {bagOf(spec), bag.Object["spec"]},
		} {
			if err := same(name+", "+what, pair[0], pair[1]); err != nil {
				t.Error(err)
			}
		}
	}
}

// bagOf is the spec of the Bag that mirrored renders.
func bagOf(spec map[string]any) map[string]any {
	texts, _ := spec["texts"].(map[string]any)
	one, _ := texts["t0"].(string)
	list := []any{}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, texts[key])
	}
	return map[string]any{"keys": spec["keys"], "list": list, "one": one, "quoted": "a: " + one}
}

// randomText returns a text of up to 24 characters, many of which are special in YAML.
func randomText(random *rand.Rand) string {
	const special = "\x00\a\b\t\n\v\f\r\x1b \"'\\/#:-?,[]{}&*!|>%@`<~=\x7f\u0080\u0085\u009f\u00a0\u2028\u2029\ud7ff\ue000\ufdd0\ufeff\ufffd\ufffe\uffff\U00010000\U0001f600\U0001ffff\U0010ffff"
	specials := []rune(special)
	out := make([]rune, random.IntN(25))
	for i := range out {
		switch random.IntN(4) {
		case 0:
			out[i] = specials[random.IntN(len(specials))]
		case 1:
			out[i] = rune(random.IntN(0x100))
		case 2:
			out[i] = rune(random.IntN(0x10000))
		default:
			out[i] = rune(random.IntN(utf8.MaxRune + 1))
		}
		if !utf8.ValidRune(out[i]) { // a lone surrogate
			out[i] = 'x'
		}
	}
	return string(out)
}
