package watch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
)

// childIn is a child in a namespace, with a parent in the same namespace.
func childIn(namespace, name, parent, uid string, version int) *object.Object {
	return pack(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"namespace": namespace, "name": name, "uid": "u-" + name, "resourceVersion": fmt.Sprint(version),
			"labels":          map[string]any{v1.LabelController: "c", v1.LabelParentUID: uid},
			"ownerReferences": []any{map[string]any{"apiVersion": "x/v1", "kind": "X", "name": parent, "uid": uid, "controller": true}},
		},
	})
}

// sameNames is a cache with children in that many namespaces, whose parents are all called "main" if same is true, or have
// different names.
func sameNames(tb testing.TB, namespaces, children int, same bool) *recorder {
	tb.Helper()
	r := newRecorder(tb, Want{Role: Child})
	var all []any
	for n := range namespaces {
		parent := "main"
		if !same {
			parent = fmt.Sprint("main-", n)
		}
		for c := range children {
			all = append(all, childIn(fmt.Sprint("ns-", n), fmt.Sprint("child-", c), parent, fmt.Sprint("uid-", n), 9))
		}
	}
	if err := r.Replace(all, "10"); err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestLookupByNameVisitsOneNamespace counts the items that a lookup visits. Parents with the same name in other namespaces must
// not add any.
func TestLookupByNameVisitsOneNamespace(t *testing.T) {
	const namespaces, children = 300, 10
	for what, same := range map[string]bool{"parents of the same name": true, "parents of different names": false} {
		t.Run(what, func(t *testing.T) {
			r := sameNames(t, namespaces, children, same)
			for n := range namespaces {
				parent := types.NamespacedName{Namespace: fmt.Sprint("ns-", n), Name: "main"}
				if !same {
					parent.Name = fmt.Sprint("main-", n)
				}
				visited := 0
				found := r.index.named("c", parent, func() { visited++ })
				if len(found) != children || visited > children+1 { // the lookup may visit one item of the next group
					t.Fatalf("a lookup visits %d items and finds %d, want %d", visited, len(found), children)
				}
			}
			if groups := len(r.index.groups); !same && groups > 0 {
				t.Errorf("%d groups, want none: they take memory that only parents of the same name need", groups)
			}
		})
	}
}

// TestLookupByNameMatchesScan compares the index with a scan of all objects, while children are added, changed and deleted.
func TestLookupByNameMatchesScan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	c := newRecorder(t, Want{Role: Child})
	if err := c.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	for step := range 4000 {
		namespace, name := fmt.Sprint("ns-", r.IntN(4)), fmt.Sprint("child-", r.IntN(12))
		o := childIn(namespace, name, fmt.Sprint("parent-", r.IntN(3)), "uid", step+2)
		change := c.Update
		if r.IntN(3) == 0 || step > 3600 {
			change = c.Delete
		}
		if err := change(o); err != nil {
			t.Fatal(err)
		}
		for _, parent := range []types.NamespacedName{{Namespace: namespace, Name: "parent-1"}, {Name: "parent-1"}, {Namespace: "ns-0", Name: "parent-0"}} {
			if diff := cmp.Diff(c.scan(parent), keysOf(c.ChildrenNamed("c", parent))); diff != "" {
				t.Fatalf("step %d, children of %s (-want +got):\n%s", step, parent, diff)
			}
		}
	}
	for namespace := range 4 {
		for name := range 12 {
			if err := c.Delete(childIn(fmt.Sprint("ns-", namespace), fmt.Sprint("child-", name), "", "uid", 5000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if chains, groups := len(c.index.heads[byName]), len(c.index.groups); chains+groups > 0 {
		t.Errorf("%d chains and %d groups are left of no objects", chains, groups)
	}
}

// scan finds the children of a parent without an index.
func (r *recorder) scan(parent types.NamespacedName) []string {
	var found []*object.Object
	r.Each(func(o *object.Object) bool {
		namespace, name := o.ParentName()
		if name == parent.Name && (parent.Namespace == "" || parent.Namespace == namespace) {
			found = append(found, o)
		}
		return true
	})
	return keysOf(found)
}

func keysOf(objects []*object.Object) []string {
	keys := []string{}
	for _, o := range objects {
		keys = append(keys, o.Key().String())
	}
	slices.Sort(keys)
	return keys
}

func BenchmarkChildrenNamed(b *testing.B) {
	for name, same := range map[string]bool{"same": true, "distinct": false} {
		b.Run(name, func(b *testing.B) {
			r := sameNames(b, 10000, 10, same)
			parent := types.NamespacedName{Namespace: "ns-5000", Name: "main"}
			if !same {
				parent.Name = "main-5000"
			}
			b.ReportAllocs()
			for b.Loop() {
				r.ChildrenNamed("c", parent)
			}
		})
	}
}
