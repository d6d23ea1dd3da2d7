package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFinalizers(t *testing.T) {
	for text, want := range map[string][]string{
		`{"metadata": {"name": "a"}}`:                                               nil,
		`{"kind": "finalizers"}`:                                                    nil,
		`{"metadata": {"finalizers": null}}`:                                        nil,
		`{"metadata": {"finalizers": []}}`:                                          nil,
		`{"spec": {"finalizers": ["x"]}, "metadata": {"finalizers": ["a/b", "c"]}}`: {"a/b", "c"},
		`{"metadata": {"labels": {"finalizers": "x"}, "finalizers" : [ "o\u0072" ], "managedFields": [{"manager": "m"}]}}`: {"or"},
	} {
		o, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, o.Finalizers()); diff != "" {
			t.Errorf("%s: finalizers (-want +got):\n%s", text, diff)
		}
		for _, name := range want {
			if !o.HasFinalizer(name) {
				t.Errorf("%s: lacks %s", text, name)
			}
		}
		if o.HasFinalizer("x") || o.HasFinalizer("") {
			t.Errorf("%s: has one that it does not", text)
		}
	}
}
