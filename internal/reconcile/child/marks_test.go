package child

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestOwnerReferencesAreEmptyList(t *testing.T) {
	m := Marks{maker: &Maker{Ownership: &Ownership{}, Parent: packed(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, uid: u}}")}, entry: &v1.Child{DeletionPolicy: v1.DeletionOrphan}}
	if got := m.references(packed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")); got == nil || len(got) > 0 {
		t.Errorf("got %v, want an empty list: in a patch, nothing is not null", got)
	}
}
