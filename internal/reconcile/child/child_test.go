package child

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestNamesOfChildren(t *testing.T) {
	gk := schema.GroupKind{Group: "example.org", Kind: "Child"}
	for want, name := range map[string]types.NamespacedName{"Child ns/a": {Namespace: "ns", Name: "a"}, "Child a": {Name: "a"}} {
		if got := (ID{gk, name}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
