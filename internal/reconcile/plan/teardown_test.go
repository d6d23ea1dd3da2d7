package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// Metadata of children.
const (
	owned   = `"ownerReferences": [{"kind": "App", "name": "one", "uid": "u", "controller": true}]`
	shared  = `"ownerReferences": [{"kind": "App", "name": "one", "uid": "u", "controller": true}, {"kind": "Job", "name": "x", "uid": "v"}]`
	lent    = `"annotations": {"templater.dev/parent": "ns/one"}, "ownerReferences": [{"kind": "Job", "name": "x", "uid": "v"}]`
	far     = `"annotations": {"templater.dev/parent": "ns/one"}`
	farStay = `"annotations": {"templater.dev/parent": "ns/one", "templater.dev/deletion": "Orphan"}`
	stays   = `"annotations": {"templater.dev/parent": "one"}`
	top     = `"annotations": {"templater.dev/order": "2"}, ` + owned
	middle  = `"annotations": {"templater.dev/order": "1"}, ` + owned
	topFar  = `"annotations": {"templater.dev/order": "2", "templater.dev/parent": "ns/one"}`
)

// live returns a child of a child template, with a seal that records the same as its annotations.
func live(t *testing.T, entry, metadata string) *child.Live {
	t.Helper()
	ring := &seal.Ring{}
	ring.Set(seal.Generate(time.Unix(1, 0)))
	configMaps := kind.Kind{Kind: "ConfigMap"}
	m := &child.Maker{Ownership: &child.Ownership{Controller: "apps", Seals: ring}, Parent: decode(t, `"metadata": {"name": "one", "namespace": "ns", "uid": "u"}`)}
	const labels = `"metadata": {"name": "x", "namespace": "ns", "labels": {"templater.dev/parent-uid": "u", "templater.dev/child": "%s"}, `
	text := fmt.Sprintf(labels, entry) + metadata + "}"
	annotation := `"templater.dev/seal": "` + m.SignUnverified(configMaps.GroupKind(), decode(t, text)) + `"`
	if there := `"annotations": {`; strings.Contains(text, there) {
		text = strings.Replace(text, there, there+annotation+", ", 1)
	} else {
		text = strings.TrimSuffix(text, "}") + `, "annotations": {` + annotation + "}}"
	}
	return m.Live(configMaps, decode(t, text))
}

func decode(t *testing.T, metadata string) *object.Object {
	t.Helper()
	o, err := object.Decode([]byte(`{"apiVersion": "v1", "kind": "ConfigMap", ` + metadata + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestCascadesOrphanDetectsOrphanFinalizer(t *testing.T) {
	for metadata, want := range map[string]bool{
		`"finalizers": ["orphan"], "deletionTimestamp": "2026-01-01T00:00:00Z"`: true,
		`"finalizers": ["x"], "deletionTimestamp": "2026-01-01T00:00:00Z"`:      false,
		`"finalizers": ["orphan"]`: false, // set by another client, and the object is not being deleted
	} {
		if got := CascadesOrphan(live(t, "a", metadata).Object); got != want {
			t.Errorf("%s: %v, want %v", metadata, got, want)
		}
	}
}

var specs = map[string]*v1.TemplateControllerSpec{
	"nothing": {},
	"None":    {Finalize: &v1.Finalize{Children: []v1.Child{{Name: "backup"}}}},
	"Reverse": {Finalize: &v1.Finalize{Order: v1.FinalizeReverse, Children: []v1.Child{{Name: "backup"}}}},
}

func TestDeletedBeforeParentByPolicyAndOwner(t *testing.T) {
	for why, row := range map[string]struct {
		entry, metadata string
		with            string // names of the specs for which it is
	}{
		"the garbage collector takes it, unless something is to happen before": {"a", owned, "None Reverse"},
		"no owner reference binds it":                                          {"a", far, "nothing None Reverse"},
		"another owner needs it":                                               {"a", shared, ""},
		"another owner needs it, elsewhere":                                    {"a", lent, ""},
		"it is to stay":                                                        {"a", stays, ""},
		"it is to stay, elsewhere":                                             {"a", farStay, ""},
		"it was made for the end, and goes with its owner":                     {"backup", owned, ""},
		"it was made for the end, elsewhere":                                   {"backup", far, "nothing None Reverse"},
	} {
		for _, name := range []string{"nothing", "None", "Reverse"} {
			want := strings.Contains(" "+row.with+" ", " "+name+" ")
			if got := DeletedBeforeParent(specs[name], live(t, row.entry, row.metadata)); got != want {
				t.Errorf("%s: with %s: %v, want %v", why, name, got, want)
			}
		}
	}
}

func TestTeardownOrder(t *testing.T) {
	all := []*child.Live{live(t, "b", owned), live(t, "backup", far), live(t, "m", middle), live(t, "t", top), live(t, "f", topFar), live(t, "s", stays)}
	for _, row := range []struct {
		spec string
		from int // index of the first child to consider
		want string
	}{
		{"nothing", 0, "backup f"}, {"None", 0, "b m t f"}, {"Reverse", 0, "t f"}, {"Reverse", 5, ""},
	} {
		var got []string
		for _, l := range DeletedFirst(specs[row.spec], all[row.from:]) {
			got = append(got, l.Entry)
		}
		if got := strings.Join(got, " "); got != row.want {
			t.Errorf("with %s: %q, want %q", row.spec, got, row.want)
		}
	}
	var order []string
	for left := all; len(left) > 0; {
		first := DeletedFirst(specs["Reverse"], left)
		if len(first) == 0 {
			break
		}
		order = append(order, first[0].Entry)
		left = slices.DeleteFunc(slices.Clone(left), func(l *child.Live) bool { return slices.Contains(first, l) })
	}
	if got, want := fmt.Sprint(order), "[t m b backup]"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
}

func TestFinalsSelectsFinalizeChildren(t *testing.T) {
	all := []*child.Live{live(t, "a", owned), live(t, "backup", owned)}
	if got := Finals(specs["None"], all); len(got) != 1 || got[0] != all[1] || all[0] == nil {
		t.Errorf("got %v of %v", got, all)
	}
}

func TestIsSuspended(t *testing.T) {
	for _, row := range []struct {
		why, metadata string
		want          bool
	}{
		{"no annotation", `"name": "one"`, false},
		{"the annotation", `"annotations": {"templater.dev/suspend": "true"}`, true},
		{"another value", `"annotations": {"templater.dev/suspend": "True"}`, false},
		{"no value", `"annotations": {"templater.dev/suspend": ""}`, false},
		{"the parent is being deleted", `"deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {"templater.dev/suspend": "true"}`, true},
		{"its cleanup is skipped", `"deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {"templater.dev/suspend": "true", "templater.dev/skip-finalize": "true"}`, false},
		{"its cleanup would be skipped", `"annotations": {"templater.dev/suspend": "true", "templater.dev/skip-finalize": "true"}`, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			if got := IsSuspended(decode(t, `"metadata": {`+row.metadata+`}`)); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}
