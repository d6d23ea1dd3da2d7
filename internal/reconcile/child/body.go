package child

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"maps"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Body returns the JSON of the child as it is applied: the desired fields, the marks that templater adds,
// and one more field of metadata. there is the object that it is applied to, nil = none.
func (w *Wanted) Body(field, value string, there *object.Object) []byte {
	content := maps.Clone(w.Content)
	metadata := maps.Clone(below(content, "metadata"))
	content["metadata"] = metadata
	metadata[field] = value
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
	annotations[v1.AnnotationSeal] = w.Marks.seal(w.Name, w.Hash, there)
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

// below returns the map under key, a new one if there is none.
func below(m map[string]any, key string) map[string]any {
	inner, ok := m[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
	}
	return inner
}

// KeyFault says where a key is that the server cannot read in what is applied, or "".
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
	return fmt.Sprintf("%s has a key of more than %d characters in JSON, which the API server cannot decode: shorten it", path, object.LongestKey-len(`""`))
}

// Hash identifies a text by 32 hexadecimal digits.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// ContentHash differs for objects that differ outside of their metadata and status, which controllers write, too.
func ContentHash(content map[string]any) int64 {
	content = maps.Clone(content)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	return int64(maphash.Bytes(Seed, object.Append(nil, content))) //nolint:gosec // a hash may be negative
}

// Seed is that of hashes of versions.
var Seed = maphash.MakeSeed()

// Fingerprint differs for different states of the children.
func Fingerprint(children []*Live) uint64 {
	var h maphash.Hash
	h.SetSeed(Seed)
	for _, l := range children {
		AddVersion(&h, l.Object)
	}
	return h.Sum64()
}

// AddVersion adds to a hash which object it is, and in which state.
func AddVersion(h *maphash.Hash, o *object.Object) {
	_, _ = h.WriteString(string(o.UID())) // a hash takes everything
	_ = h.WriteByte('@')
	_, _ = h.WriteString(o.ResourceVersion())
	_ = h.WriteByte(' ')
}
