package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

const (
	// mostCached is how many bytes of a spec the cache keeps. Of a larger one it keeps the outline, and the size.
	mostCached = 8 << 10
	// mostFinalizers is how many bytes of finalizers the cache keeps. Of more it keeps templater's own.
	mostFinalizers = 1 << 10
)

// Trim returns the part of a TemplateController that the cache keeps. Its size is bounded, because users may create many that are never
// compiled. The full spec is read from the API server to compile it: see whole. kept is what the cache has of that name, nil = nothing: of the
// same generation, a large spec is not read again.
func Trim(o, kept *object.Object) (*object.Object, error) {
	t := &trimmer{from: o}
	if kept != nil && kept.UID() == o.UID() && kept.Generation() == o.Generation() {
		t.kept = kept
	}
	t.b.WriteString(`{"apiVersion":"` + v1.GroupVersion.String() + `","kind":"` + v1.KindTemplateController + `","metadata":{"name":` + o.JSON("metadata", "name"))
	for _, key := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"} {
		t.member(key, o.JSON("metadata", key))
	}
	t.finalizers()
	t.b.WriteByte('}')
	t.spec()
	t.member("status", o.JSON("status"))
	t.b.WriteByte('}')
	out, err := object.Decode([]byte(t.b.String()))
	if err != nil {
		return nil, fmt.Errorf("trim TemplateController %s: %w", o.Name(), err)
	}
	out.Note(object.Trimmed)
	return out, nil
}

// trimmer writes the text of a trimmed TemplateController.
type trimmer struct {
	from *object.Object
	kept *object.Object // the trimmed one of the same generation; nil = there is none
	b    strings.Builder
}

// member writes a member of a map that has another one before, unless there is none.
func (t *trimmer) member(key, text string) {
	if text != "" {
		t.b.WriteString(`,"` + key + `":` + text)
	}
}

func (t *trimmer) finalizers() {
	text := t.from.JSON("metadata", "finalizers")
	if len(text) <= mostFinalizers {
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
	if len(text) <= mostCached {
		t.member("spec", text)
		return
	}
	if t.kept != nil && t.kept.Int("size") > 0 {
		t.member("spec", t.kept.JSON("spec"))
		t.member("size", t.kept.JSON("size"))
		return
	}
	tc, err := decode(t.from)
	if err != nil {
		t.member("spec", `"unreadable"`) // so that decoding it fails, too
		return
	}
	outline, err := json.Marshal(spec.Outline(&tc.Spec))
	if err != nil {
		t.member("spec", `"unreadable"`)
		return
	}
	t.member("spec", string(outline))
	t.member("size", strconv.Itoa(spec.Size(&tc.Spec)))
}

// sizeOf returns spec.Size of the whole spec of a TemplateController in the cache.
func sizeOf(packed *object.Object, tc *v1.TemplateController) int {
	if size := packed.Int("size"); size > 0 {
		return int(size)
	}
	return spec.Size(&tc.Spec)
}

// whole returns the spec of a cached TemplateController. If the cache has its outline, it reads the spec from the API server. It returns
// errBehind if the server has another generation.
func (c *Controllers) whole(ctx context.Context, packed *object.Object, tc *v1.TemplateController) (*v1.TemplateControllerSpec, error) {
	if packed.Int("size") == 0 {
		return &tc.Spec, nil
	}
	now, err := c.current(ctx, packed)
	if err != nil {
		return nil, err
	}
	if now.Generation() != packed.Generation() {
		return nil, errBehind
	}
	read, err := decode(now)
	if err != nil {
		return nil, err
	}
	return &read.Spec, nil
}

// current reads a TemplateController from the server. The error is errBehind where it is another one than in the cache.
func (c *Controllers) current(ctx context.Context, packed *object.Object) (*object.Object, error) {
	now, err := c.clusters("").Get(ctx, request.Location{Resource: v1.Resource, Name: packed.Name()})
	switch {
	case apierrors.IsNotFound(err) || err == nil && now.UID() != packed.UID():
		return nil, errBehind
	case err != nil:
		return nil, fmt.Errorf("read TemplateController %s: %w", packed.Name(), err)
	}
	return now, nil
}
