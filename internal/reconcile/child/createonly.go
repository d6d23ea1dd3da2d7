package child

import (
	"maps"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/data"
)

// omitCreateOnly removes the createOnlyFields of the child template from Content. It returns an error message, or "".
func (w *Wanted) omitCreateOnly() string {
	for _, text := range w.Entry.CreateOnlyFields {
		path, ok := data.Path(text)
		if !ok {
			continue // the spec is rejected
		}
		content, depth := without(w.Content, path)
		if depth > 0 {
			return "createOnlyFields has " + text + ", but " + strings.Join(path[:depth], ".") + " is not a mapping: list " + strings.Join(path[:depth], ".") + " instead"
		}
		w.Content, w.createOnly = content, append(w.createOnly, path)
	}
	return ""
}

// without returns a copy of content without the field at a path, and without mappings that are empty then: applying an empty mapping would own all
// that is in it. If the path leads through a value that is not a mapping, it returns the number of keys that lead to that value, or else 0.
func without(content map[string]any, path []string) (rest map[string]any, depth int) {
	value, has := content[path[0]]
	if !has {
		return content, 0
	}
	inner, isMap := value.(map[string]any)
	switch {
	case len(path) == 1:
		inner = nil
	case isMap:
		if inner, depth = without(inner, path[1:]); depth > 0 {
			return nil, depth + 1
		}
	case value != nil:
		return nil, 1
	}
	rest = maps.Clone(content)
	if rest[path[0]] = inner; len(inner) == 0 {
		delete(rest, path[0])
	}
	return rest, 0
}

// NeedsRelease reports whether templater owns createOnlyFields of an object, because it has just created the object, or because they were added to
// the spec.
func (w *Wanted) NeedsRelease(o *object.Object) bool {
	if len(w.createOnly) == 0 {
		return false
	}
	held := o.Applied(w.Marks.maker.Manager, "")
	for _, path := range w.createOnly {
		if _, owns := held.Without(path...); owns {
			return true
		}
	}
	return false
}

// Release returns the request that gives up the createOnlyFields of an object.
func (w *Wanted) Release(o *object.Object) request.Release {
	return request.Release{UID: o.UID(), Manager: w.Marks.maker.Manager, Paths: w.createOnly}
}

// NotReleasable returns the problem that createOnlyFields has a field in a mapping that only has one owner, or nil.
func (w *Wanted) NotReleasable(o *object.Object) *problem.Problem {
	if len(w.createOnly) == 0 {
		return nil
	}
	held := o.Applied(w.Marks.maker.Manager, "")
	for i, path := range w.createOnly {
		if n := held.WholeAbove(path); n > 0 {
			return problem.Newf(v1.ReasonInvalidChild, "children[%s]:%d: createOnlyFields has %s, but %s of %s is atomic, so its fields cannot have different owners: list %s instead",
				w.Entry.Name, w.line, w.Entry.CreateOnlyFields[i], strings.Join(path[:n], "."), w.ID(), strings.Join(path[:n], "."))
		}
	}
	return nil
}

// keeping returns Content with the values of those createOnlyFields of an object that templater owns.
func (w *Wanted) keeping(o *object.Object) map[string]any {
	held, content := o.Applied(w.Marks.maker.Manager, ""), w.Content
	for _, path := range w.createOnly {
		if _, owns := held.Without(path...); owns {
			content = with(content, path, o.At(path...))
		}
	}
	return content
}

// Shown returns the desired content for readers: the createOnlyFields have the values of the existing object or, if it is nil, of the template.
func (w *Wanted) Shown(live *object.Object) map[string]any {
	if live == nil {
		return w.Initial
	}
	content := w.Content
	for _, path := range w.createOnly {
		if value := live.At(path...); value != nil {
			content = with(content, path, value)
		}
	}
	return content
}

// with returns a copy of content with a value at a path.
func with(content map[string]any, path []string, value any) map[string]any {
	content = maps.Clone(content)
	if content == nil {
		content = map[string]any{}
	}
	if len(path) > 1 {
		inner, _ := content[path[0]].(map[string]any)
		value = with(inner, path[1:], value)
	}
	content[path[0]] = value
	return content
}

// held returns the fields of an object that templater owns, without the createOnlyFields.
func (w *Wanted) held(o *object.Object) object.FieldSet {
	held := o.Applied(w.Marks.maker.Manager, "")
	for _, path := range w.createOnly {
		held, _ = held.Without(path...)
	}
	return held
}
