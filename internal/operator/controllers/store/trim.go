package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/revision"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

const (
	// MaxCached is the maximum size of a cached spec in bytes. Of a larger spec, the cache keeps the outline, the size and the ID of its revision.
	MaxCached = 8 << 10
	// maxFinalizers is the maximum size of cached finalizers in bytes. Of more, the cache only keeps templater's own.
	maxFinalizers = 1 << 10
)

// Trim returns the part of a TemplateController that the cache keeps. Its size is limited, because users may create
// many that are never compiled. The full spec is read from the API server to compile it: see Store.Whole. kept is the
// cached object with the same name, or nil: if it has the same generation, a large spec is not decoded again.
func Trim(o, kept *object.Object) (*object.Object, error) {
	t := &trimmer{from: o}
	if kept != nil && kept.UID() == o.UID() && kept.Generation() == o.Generation() {
		t.kept = kept
	}
	t.b.WriteString(`{"apiVersion":"` + v1.GroupVersion.String() + `","kind":"` + v1.KindOf(KeyOf(o)) + `","metadata":{"name":` + o.JSON("metadata", "name"))
	for _, key := range []string{"namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"} {
		t.member(key, o.JSON("metadata", key))
	}
	t.finalizers()
	t.b.WriteByte('}')
	t.spec()
	t.member("status", o.JSON("status"))
	t.b.WriteByte('}')
	out, err := object.Decode([]byte(t.b.String()))
	if err != nil {
		return nil, fmt.Errorf("trim %s: %w", v1.Describe(KeyOf(o)), err)
	}
	out.Note(object.Trimmed)
	return out, nil
}

// trimmer writes the JSON of a trimmed TemplateController.
type trimmer struct {
	from *object.Object
	kept *object.Object // the trimmed object of the same generation, or nil
	b    strings.Builder
}

// member writes a field of an object, preceded by a comma, unless text is empty.
func (t *trimmer) member(key, text string) {
	if text != "" {
		t.b.WriteString(`,"` + key + `":` + text)
	}
}

func (t *trimmer) finalizers() {
	text := t.from.JSON("metadata", "finalizers")
	if len(text) <= maxFinalizers {
		t.member("finalizers", text)
		return
	}
	if t.from.HasFinalizer(v1.FinalizerChildren) {
		t.member("finalizers", `["`+v1.FinalizerChildren+`"]`)
	}
	t.member("finalizersTrimmed", "1")
}

func (t *trimmer) spec() {
	text := t.from.JSON("spec")
	if len(text) <= MaxCached {
		t.member("spec", text)
		return
	}
	if t.kept != nil && t.kept.Int("size") > 0 {
		t.member("spec", t.kept.JSON("spec"))
		t.member("size", t.kept.JSON("size"))
		t.member("revision", t.kept.JSON("revision"))
		return
	}
	tc, err := Decode(t.from)
	if err != nil {
		t.member("spec", `"unreadable"`) // makes decoding it fail, too
		return
	}
	outline, err := json.Marshal(spec.Outline(&tc.Spec))
	if err != nil {
		t.member("spec", `"unreadable"`)
		return
	}
	t.member("spec", string(outline))
	t.member("size", strconv.Itoa(spec.Size(&tc.Spec)))
	t.member("revision", strconv.Quote(revision.IDOf(&tc.Spec)))
}

// SizeOf returns spec.Size of the whole spec of a cached TemplateController.
func SizeOf(packed *object.Object, tc *v1.TemplateController) int {
	if size := packed.Int("size"); size > 0 {
		return int(size)
	}
	return spec.Size(&tc.Spec)
}

// RevisionOf returns revision.IDOf the whole spec of a cached TemplateController.
func RevisionOf(packed *object.Object, tc *v1.TemplateController) string {
	if packed.Int("size") > 0 {
		return packed.Text("revision")
	}
	return revision.IDOf(&tc.Spec)
}

// Decode decodes a TemplateController.
func Decode(packed *object.Object) (*v1.TemplateController, error) {
	tc := &v1.TemplateController{}
	if err := packed.Unmarshal(tc); err != nil {
		return nil, fmt.Errorf("read %s: %w", v1.Describe(KeyOf(packed)), err)
	}
	spec.Confine(tc.Namespace, &tc.Spec)
	return tc, nil
}
