package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func data(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLocalApplyKeepsForeignFields keeps what others have set.
func TestLocalApplyKeepsForeignFields(t *testing.T) {
	for why, row := range map[string]struct{ live, was, wanted, want string }{
		"changed field, default kept":       {`{a: 1, d: 9}`, `{a: 1}`, `{a: 2}`, `{a: 2, d: 9}`},
		"removed field, default kept":       {`{a: 1, b: 1, d: 9}`, `{a: 1, b: 1}`, `{a: 1}`, `{a: 1, d: 9}`},
		"added field":                       {`{a: 1}`, `{a: 1}`, `{a: 1, b: {c: 1}}`, `{a: 1, b: {c: 1}}`},
		"deep down":                         {`{a: {b: 1, c: 1, d: 9}}`, `{a: {b: 1, c: 1}}`, `{a: {b: 2}}`, `{a: {b: 2, d: 9}}`},
		"in a list of the same length":      {`{l: [{a: 1, d: 9}, {a: 2, d: 9}]}`, `{l: [{a: 1}, {a: 2}]}`, `{l: [{a: 1}, {a: 3}]}`, `{l: [{a: 1, d: 9}, {a: 3, d: 9}]}`},
		"removed field of a list item":      {`{l: [{a: 1, b: 1, d: 9}]}`, `{l: [{a: 1, b: 1}]}`, `{l: [{a: 1}]}`, `{l: [{a: 1, d: 9}]}`},
		"a list that was of another length": {`{l: [{a: 1, b: 1, d: 9}]}`, `{l: [{b: 1}, {b: 1}]}`, `{l: [{a: 1}]}`, `{l: [{a: 1, b: 1, d: 9}]}`},
		"a list gets longer":                {`{l: [{a: 1, d: 9}]}`, `{l: [{a: 1}]}`, `{l: [{a: 1}, {a: 2}]}`, `{l: [{a: 1}, {a: 2}]}`},
		"a list in the place of none":       {`{}`, `{}`, `{l: []}`, `{l: []}`},
		"another type":                      {`{a: x, l: x}`, `{a: x, l: x}`, `{a: {b: 1}, l: [1]}`, `{a: {b: 1}, l: [1]}`},
		"a text in the place of a map":      {`{a: {b: 1}}`, `{a: {b: 1}}`, `{a: x}`, `{a: x}`},
	} {
		t.Run(why, func(t *testing.T) {
			live := data(t, row.live)
			if diff := cmp.Diff(any(data(t, row.want)), applied(live, data(t, row.was), data(t, row.wanted))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(data(t, row.live), live); diff != "" {
				t.Errorf("the live object has changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSecretDataIsMasked says what differs, and hides what.
func TestSecretDataIsMasked(t *testing.T) {
	const kubectls = `annotations: {kubectl.kubernetes.io/last-applied-configuration: "top", own: x}`
	was, is := masked(data(t, `{metadata: {`+kubectls+`}, data: {same: top, other: top, goes: top}, stringData: {a: top}}`), data(t, `{metadata: {`+kubectls+`}, data: {same: top, other: top2, comes: top}}`))
	if diff := cmp.Diff(data(t, `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "***", own: x}}, data: {same: "***", other: "*** (before)", goes: "***"}, stringData: {a: "***"}}`), was); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(data(t, `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "***", own: x}}, data: {same: "***", other: "*** (after)", comes: "***"}}`), is); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
	const name = "--- before/Secret/a\n+++ after/Secret/a\n"
	of := Change{APIVersion: "example.org/v1", Kind: "Secret", Name: "a"}
	if got, want := diffOf(of, nil, data(t, `{data: {a: b}}`)), name+"@@ -0,0 +1,2 @@\n+data:\n+  a: b\n"; got != want {
		t.Errorf("a Secret of another group: %s, want %s", got, want)
	}
	of.APIVersion = "v1"
	if got, want := diffOf(of, nil, data(t, `{data: {a: b}}`)), name+"@@ -0,0 +1,2 @@\n+data:\n+  a: '***'\n"; got != want {
		t.Errorf("a new Secret: %s, want %s", got, want)
	}
}
