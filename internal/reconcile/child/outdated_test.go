package child

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// TestOutdatedComparesHashAndFields tests an object with and without a sealed hash.
func TestOutdatedComparesHashAndFields(t *testing.T) {
	const (
		same    = `data: {a: "1"}`
		differs = `data: {a: "2"}`
		more    = `data: {a: "1", b: "1"}` // templater owns b
	)
	for why, row := range map[string]struct {
		hash, data  string // hash "" = the seal has none, "-" = there is no seal
		fact        object.Fact
		strategy    v1.UpdateStrategyType
		outdated    bool
		replaceable bool
		seals       string // the hash that Mark seals
	}{
		"it is current":                            {"new", same, 0, v1.UpdateRecreate, false, false, "new"},
		"it is current, and was edited":            {"new", differs, 0, v1.UpdateRecreate, false, false, "new"},
		"it is outdated":                           {"old", differs, 0, v1.UpdateRecreate, true, true, "old"},
		"a field is to go":                         {"old", more, 0, v1.UpdateRecreate, true, true, "old"},
		"it is outdated, and has all values":       {"old", same, 0, v1.UpdateRecreate, false, false, "new"},
		"it is outdated, under Apply":              {"old", same, 0, v1.UpdateApply, true, true, "old"},
		"it is outdated, under OnDelete":           {"old", same, 0, v1.UpdateOnDelete, true, true, "old"},
		"no hash is sealed":                        {"", same, 0, v1.UpdateRecreate, false, false, "new"},
		"no hash is sealed, and it differs":        {"", differs, 0, v1.UpdateRecreate, true, false, ""},
		"no hash is sealed, under Apply":           {"", differs, 0, v1.UpdateApply, true, false, ""},
		"no hash is sealed, under CreateOnly":      {"", same, 0, v1.UpdateCreateOnly, false, false, ""},
		"nothing is sealed":                        {"-", same, 0, v1.UpdateRecreate, false, false, "new"},
		"nothing is sealed, and it differs":        {"-", differs, 0, v1.UpdateRecreate, true, false, ""},
		"a seal was restored":                      {"old", same, object.Restored, v1.UpdateRecreate, false, false, "new"},
		"a seal was restored, and it differs":      {"old", differs, object.Restored, v1.UpdateRecreate, true, false, ""},
		"a current seal was restored, and differs": {"new", differs, object.Restored, v1.UpdateRecreate, true, false, ""},
	} {
		t.Run(why, func(t *testing.T) {
			maker := &Maker{Ownership: adopting(t), Parent: packed(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns, uid: uid-one}}"), Clock: clocktesting.NewFakePassiveClock(time.Time{})}
			entry := &v1.Child{Name: "maps", UpdateStrategy: v1.UpdateStrategy{Type: row.strategy}}
			name := types.NamespacedName{Namespace: "ns", Name: "a"}
			w := &Wanted{
				Entry: entry, Hash: "new", Name: name, Marks: maker.Marks(entry, configMaps, "ns", false),
				Content: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "ns"}, "data": map[string]any{"a": "1"}},
			}
			text := ""
			if row.hash != "-" {
				text = maker.Seals.Seal(w.Marks.subject(name), seal.Note{Entry: "maps", Hash: row.hash})
			}
			held := `"f:data": {"f:a": {}}`
			if row.data == more {
				held = `"f:data": {"f:a": {}, "f:b": {}}`
			}
			o := changed(t, "  labels:", "  annotations: {"+v1.AnnotationHash+": new, "+v1.AnnotationSeal+": \""+text+"\"}\n  labels:", `"f:data": {}`, held, "kind: ConfigMap", "kind: ConfigMap\n"+row.data)
			o.Note(row.fact)
			if got := w.Outdated(o); got != row.outdated {
				t.Errorf("outdated is %v, want %v", got, row.outdated)
			}
			if got := w.Replaceable(o); got != row.replaceable {
				t.Errorf("replaceable is %v, want %v", got, row.replaceable)
			}
			if got := w.hashFor(o); got != row.seals {
				t.Errorf("a mark seals the hash %q, want %q", got, row.seals)
			}
		})
	}
}

// TestHashIsPinned ensures that an upgrade does not make children outdated.
func TestHashIsPinned(t *testing.T) {
	content := map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": "a", "namespace": "ns"},
		"data": map[string]any{"text": "<ä\u2028\">", "b": "2"}, "numbers": []any{int64(1), 1.5, 1e21, true, nil, map[string]any{}},
	}
	text := string(object.Append(nil, content))
	const wantText = `{"apiVersion":"v1","data":{"b":"2","text":"<ä\u2028\">"},"kind":"ConfigMap","metadata":{"name":"a","namespace":"ns"},"numbers":[1,1.5,1e+21,true,null,{}]}`
	if text != wantText {
		t.Errorf("the text is\n%s, want\n%s", text, wantText)
	}
	if got, want := Hash([]byte(text)), "3412192ceb7f6ff82291130b2bcde074"; got != want {
		t.Errorf("the hash is %s, want %s", got, want)
	}
}
