package reconciletest

import (
	"encoding/base64"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// KeysOf returns keys with these numbers. They are the same in each test.
func KeysOf(t testing.TB, ids ...string) *seal.Keys {
	t.Helper()
	return keysSince(t, time.Time{}, ids...)
}

func keysSince(t testing.TB, since time.Time, ids ...string) *seal.Keys {
	t.Helper()
	data := map[string]any{}
	for _, id := range ids {
		data[id] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id[:1], 32)))
	}
	keys, err := seal.Parse(data, since)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// Ring returns a ring with key 1.
func Ring(t testing.TB) *seal.Ring {
	t.Helper()
	r := &seal.Ring{}
	r.Set(KeysOf(t, "1"))
	return r
}

// Definition returns the seal.Definition of a TemplateController.
func Definition(name string) seal.Definition {
	return seal.Definition{Kind: v1.KindTemplateController, Name: types.NamespacedName{Name: name}}
}

// Seal adds the seal of a child with its labels and annotations to an object.
func (c *Cluster) Seal(o *unstructured.Unstructured) {
	parents := "App"
	if tc := c.Find(v1.Resource.Resource, o.GetLabels()[v1.LabelController]); tc != nil {
		parents, _, _ = unstructured.NestedString(tc.Object, "spec", "watch", "kind")
	}
	Seal(c.T, c.Keys, o, parents)
}

// Seal adds the seal of a child with its labels and annotations, and a parent of parentKind, to an object.
func Seal(t testing.TB, keys *seal.Keys, o *unstructured.Unstructured, parentKind string) {
	ring, labels, annotations := &seal.Ring{}, o.GetLabels(), maps.Clone(o.GetAnnotations())
	ring.Set(keys)
	namespace, name := memserver.Pack(t, o).ParentName()
	parent := seal.Parent{
		UID: types.UID(labels[v1.LabelParentUID]), Kind: schema.GroupKind{Group: "example.org", Kind: parentKind}, Name: types.NamespacedName{Namespace: namespace, Name: name},
	}
	order, _ := strconv.Atoi(annotations[v1.AnnotationOrder])
	text := ring.Seal(seal.Subject{
		Definition: Definition(labels[v1.LabelController]), Parent: parent, Kind: o.GroupVersionKind().GroupKind(),
		Name: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()},
	}, seal.Note{Entry: labels[v1.LabelChild], Hash: annotations[v1.AnnotationHash], Policies: seal.Policies{
		PruneOrphan: annotations[v1.AnnotationPrune] == "Orphan", DeletionOrphan: annotations[v1.AnnotationDeletion] == "Orphan", Order: order,
	}, Serial: seal.Read(annotations[v1.AnnotationSeal]).Serial + 1})
	delete(annotations, v1.AnnotationSeal)
	o.SetAnnotations(Plus(annotations, v1.AnnotationSeal, text))
}

// SealOf returns the seal of a ConfigMap.
func (c *Cluster) SealOf(name string) string {
	return c.Find("configmaps", name).GetAnnotations()[v1.AnnotationSeal]
}

// StripSeals removes the seals of ConfigMaps, and updates the caches.
func (c *Cluster) StripSeals(names ...string) {
	c.T.Helper()
	for _, name := range names {
		o := c.Find("configmaps", name).DeepCopy()
		annotations := o.GetAnnotations()
		delete(annotations, v1.AnnotationSeal)
		o.SetAnnotations(annotations)
		c.Store(ConfigMap(name), o)
	}
	c.Deliver()
}

// ForgeCopy creates a copy of a child under another name, with other data, and returns it.
func (c *Cluster) ForgeCopy(child, name string) *unstructured.Unstructured {
	c.T.Helper()
	c.Put(c.Find("configmaps", child), func(o *unstructured.Unstructured) {
		o.SetName(name)
		o.SetUID("forged")
		o.Object["data"] = map[string]any{"text": "forged"}
	})
	return c.Find("configmaps", name).DeepCopy()
}

// RenewKeys makes all objects older than the keys, and replaces the keys by one with that number.
func (c *Cluster) RenewKeys(id string) {
	c.T.Helper()
	created := metav1.NewTime(c.Clock.Now())
	for at, o := range c.Objects {
		o = o.DeepCopy()
		o.SetCreationTimestamp(created)
		c.Store(at, o)
	}
	c.Clock.SetTime(created.Add(time.Hour))
	c.Keys = keysSince(c.T, c.Clock.Now(), id)
}
