package child

import (
	"fmt"
	"maps"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Body returns the JSON to apply for the child: the desired fields, the labels, annotations and owner reference that templater adds, and one
// extra metadata field. live is the existing object that it is applied to, or nil. Only a new object gets the createOnlyFields. If templater still
// owns such fields of live, they keep their values, and the body has its resource version: so no apply resets them.
func (w *Wanted) Body(field, value string, live *object.Object) []byte {
	kept := live != nil && w.NeedsRelease(live)
	content := w.Content
	switch {
	case live == nil:
		content = w.Initial
	case kept:
		content = w.keeping(live)
	}
	content = maps.Clone(content)
	metadata := maps.Clone(below(content, "metadata"))
	content["metadata"] = metadata
	metadata[field] = value
	if version := w.Version(live); version != "" {
		metadata["resourceVersion"] = version
	}
	labels := maps.Clone(below(metadata, "labels"))
	metadata["labels"] = labels
	for _, m := range w.Marks.labels() {
		if m.value != "" {
			labels[m.key] = m.value
		}
	}
	annotations := maps.Clone(below(metadata, "annotations"))
	metadata["annotations"] = annotations
	annotations[v1.AnnotationHash] = w.Hash
	annotations[v1.AnnotationSeal] = w.Marks.seal(w.Name, w.Hash, live)
	for _, m := range w.Marks.annotations() {
		if m.value != "" {
			annotations[m.key] = m.value
		}
	}
	if w.Marks.bound() {
		metadata["ownerReferences"] = []any{w.Marks.reference()}
	}
	return object.Append(make([]byte, 0, 2048), content)
}

// Version returns the resource version that an apply requires the live object to have, or "" if it may have any. live may be nil.
func (w *Wanted) Version(live *object.Object) string {
	if live == nil || !w.NeedsRelease(live) && !w.Marks.adopts(live) {
		return ""
	}
	return live.ResourceVersion()
}

// below returns the map under key, a new one if there is none.
func below(m map[string]any, key string) map[string]any {
	inner, ok := m[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
	}
	return inner
}

// KeyFault returns a message with the path of a key that is too long for the API server to decode, or "".
func (f *Factory) KeyFault(content map[string]any) string {
	path := object.LongKey(content)
	switch path {
	case "":
		return ""
	case ".":
		path = "the document"
	default:
		path = problem.Author(f.Program.Wrote).Path(path, content)
	}
	return fmt.Sprintf("%s has a key of more than %d characters in JSON, which the API server cannot decode: shorten it", path, object.MaxKeyLength-len(`""`))
}
