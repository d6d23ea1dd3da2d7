package child

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
)

func TestTemplateOfChildPrefersDesiredTemplate(t *testing.T) {
	all := Entries{{Name: "g"}, {Name: "h"}}
	from := packed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
	for why, row := range map[string]struct {
		l    *Live
		want string
	}{
		"another one wants it": {&Live{Object: from, Wanted: &Wanted{Entry: &all[1]}}, "h"},
		"nobody wants it":      {&Live{Object: from, MadeFrom: "g"}, "g"},
	} {
		if got := all.Of(row.l); got == nil || got.Name != row.want {
			t.Errorf("%s: %v, want %s", why, got, row.want)
		}
	}
}

// TestTemplateLabelDoesNotDecidePolicies tests a child in another namespace whose label names the child template "maps", which deletes.
func TestTemplateLabelDoesNotDecidePolicies(t *testing.T) {
	type fate struct {
		child      string // template that decides
		level      int
		prunes     bool
		outlives   bool
		goesWithTC bool
	}
	sealOf := func(r *Ownership, entry string, p seal.Policies) string {
		parent := seal.Parent{UID: "uid-one", Name: types.NamespacedName{Namespace: "home", Name: "one"}}
		return r.Seals.Seal(r.subject(types.NamespacedName{Namespace: "ns", Name: "a"}, configMaps, parent), seal.Note{Entry: entry, Policies: p, Serial: 1})
	}
	kept := fate{"", 0, false, true, false}
	for _, row := range []struct {
		why      string
		seal     func(*Ownership) string
		adopting bool
		note     object.Fact
		want     fate
	}{
		{"no seal", func(*Ownership) string { return "" }, false, object.Ours, kept},
		{"no seal, while children without seals are adopted", func(*Ownership) string { return "" }, true, 0, kept},
		{"a seal that is wrong", func(*Ownership) string { return "9:x:y:maps" }, false, object.Ours, kept},
		{"an earlier seal that was restored", func(r *Ownership) string { return sealOf(r, "maps", seal.Policies{}) }, false, object.Ours | object.Restored, kept},
		{"a seal of the child template that the label names", func(r *Ownership) string { return sealOf(r, "maps", seal.Policies{Order: 2}) }, false, 0, fate{"maps", 2, true, false, true}},
		{"a seal of another child template", func(r *Ownership) string { return sealOf(r, "kept", seal.Policies{DeletionOrphan: true, Order: 1}) }, false, 0, fate{"kept", 1, false, true, false}},
		{"a seal from when its child template deleted", func(r *Ownership) string { return sealOf(r, "kept", seal.Policies{}) }, false, 0, fate{"kept", 0, false, true, false}},
		{"a seal by which it was to be kept, of a child template that deletes", func(r *Ownership) string { return sealOf(r, "maps", seal.Policies{DeletionOrphan: true}) }, false, 0, fate{"maps", 0, true, true, false}},
		{"a seal of a child template that was removed", func(r *Ownership) string { return sealOf(r, "removed", seal.Policies{}) }, false, 0, fate{"removed", 0, true, false, true}},
	} {
		t.Run(row.why, func(t *testing.T) {
			r := adopting(t)
			r.Adopting = row.adopting
			r.Entries = Entries{{Name: "maps"}, {Name: "kept", PrunePolicy: v1.PruneOrphan, DeletionPolicy: v1.DeletionOrphan}}
			r.Levels = map[string]int{"maps": 7}
			o := changed(t, append(slices.Clone(ownerless), "  labels:", "  annotations: {"+v1.AnnotationParent+": home/one, "+v1.AnnotationSeal+": '"+row.seal(r)+"'}\n  labels:")...)
			o.Note(row.note)
			l := r.Live(kind.Kind{Kind: configMaps.Kind}, o)
			got := fate{l.MadeFrom, l.Level(), r.Entries.Prunes(l), l.Outlives(), r.GoesWith(l, r.Entries)}
			if got != row.want {
				t.Errorf("it is %+v, want %+v", got, row.want)
			}
		})
	}
}
