package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/memserver"
)

func data(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMergeAndPatch(t *testing.T) {
	for why, row := range map[string]struct {
		change            func(a, b map[string]any) map[string]any
		a, b, want, again string // again is what is left of a
	}{
		"merged: fields of both":              {merged, `{a: {b: 1}, c: 1}`, `{a: {d: 2}, e: 2}`, `{a: {b: 1, d: 2}, c: 1, e: 2}`, `{a: {b: 1}, c: 1}`},
		"merged: lists are taken whole":       {merged, `{a: [1, 2]}`, `{a: [3]}`, `{a: [3]}`, `{a: [1, 2]}`},
		"merged: a map becomes a text":        {merged, `{a: {b: 1}}`, `{a: x}`, `{a: x}`, `{a: {b: 1}}`},
		"merged: a text becomes a map":        {merged, `{a: x}`, `{a: {b: 1}}`, `{a: {b: 1}}`, `{a: x}`},
		"merged: null is kept":                {merged, `{a: 1}`, `{a: null}`, `{a: null}`, `{a: 1}`},
		"Patch: null takes away":              {memserver.Patch, `{a: {b: 1, c: 2}, d: 1}`, `{a: {b: null}, d: null, e: null}`, `{a: {c: 2}}`, `{a: {b: 1, c: 2}, d: 1}`},
		"Patch: a map in the place of none":   {memserver.Patch, `{}`, `{a: {b: 1, c: null}}`, `{a: {b: 1}}`, `{}`},
		"Patch: a map in the place of text":   {memserver.Patch, `{a: x}`, `{a: {b: 1}}`, `{a: {b: 1}}`, `{a: x}`},
		"Patch: a text in the place of a map": {memserver.Patch, `{a: {b: 1}}`, `{a: x}`, `{a: x}`, `{a: {b: 1}}`},
	} {
		t.Run(why, func(t *testing.T) {
			a := data(t, row.a)
			if diff := cmp.Diff(data(t, row.want), row.change(a, data(t, row.b))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(data(t, row.again), a); diff != "" {
				t.Errorf("what it was made of has changed (-want +got):\n%s", diff)
			}
		})
	}
	if got := memserver.Patch(nil, nil); got == nil {
		t.Error("Patch of nothing is nil")
	}
}

func TestCovers(t *testing.T) {
	for _, row := range []struct {
		there, want string
		covers      bool
	}{
		{`{a: 1, b: 2}`, `{a: 1}`, true},
		{`{a: 1}`, `{a: 1, b: 2}`, false},
		{`{a: 1}`, `{a: 2}`, false},
		{`{a: {b: 1, c: 2}}`, `{a: {b: 1}}`, true},
		{`{a: x}`, `{a: {b: 1}}`, false},
		{`{a: x}`, `{a: {}}`, true},
		{`{}`, `{a: {}}`, true},
		{`{}`, `{a: {b: {}}}`, false},
		{`{a: [{b: 1, c: 2}]}`, `{a: [{b: 1}]}`, true},
		{`{a: [1, 2]}`, `{a: [1]}`, false},
		{`{a: [1, 2]}`, `{a: [2, 1]}`, false},
		{`{a: [1]}`, `{a: [2]}`, false},
		{`{}`, `{a: []}`, true},
		{`{}`, `{a: null}`, true},
	} {
		if got := covers(data(t, row.there), data(t, row.want)); got != row.covers {
			t.Errorf("%s covers %s: %v", row.there, row.want, got)
		}
	}
}

func TestGenerations(t *testing.T) {
	for why, row := range map[string]struct{ before, after, want string }{
		"another spec":             {`{metadata: {generation: 3}, spec: {a: 1}}`, `{metadata: {generation: 3}, spec: {a: 2}}`, `{metadata: {generation: 4}, spec: {a: 2}}`},
		"other data":               {`{metadata: {generation: 3}}`, `{metadata: {generation: 3}, data: {a: b}}`, `{metadata: {generation: 4}, data: {a: b}}`},
		"no labels before":         {`{spec: {a: 1}}`, `{metadata: {labels: {a: b}}, spec: {a: 2}}`, `{metadata: {labels: {a: b}, generation: 2}, spec: {a: 2}}`},
		"other labels":             {`{metadata: {generation: 3}}`, `{metadata: {generation: 3, labels: {a: b}}}`, `{metadata: {generation: 3, labels: {a: b}}}`},
		"another status":           {`{metadata: {generation: 3}}`, `{metadata: {generation: 3}, status: {a: b}}`, `{metadata: {generation: 3}, status: {a: b}}`},
		"nothing, and it has none": {`{spec: {a: 1}}`, `{spec: {a: 1}}`, `{spec: {a: 1}}`},
	} {
		t.Run(why, func(t *testing.T) {
			before, after := integers(data(t, row.before)), integers(data(t, row.after))
			CountGeneration(before, after)
			if diff := cmp.Diff(integers(data(t, row.want)), after); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(integers(data(t, row.before)), before); diff != "" {
				t.Errorf("before (-want +got):\n%s", diff)
			}
		})
	}
}

// integers has numbers be such.
func integers(m map[string]any) map[string]any {
	for key, value := range m {
		switch value := value.(type) {
		case map[string]any:
			integers(value)
		case float64:
			m[key] = int64(value)
		}
	}
	return m
}
