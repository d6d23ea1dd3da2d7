package reconcile

import (
	"crypto/sha256"
	"encoding/hex"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
)

// body is the text of a child, encoded once: for its hash, and for the request. The
// hash, and what the request says of the object it is for, are put in afterwards.
type body struct {
	text        []byte
	metadata    int // where the members of metadata begin
	annotations int // where the members of metadata.annotations begin
}

// encode returns the text of a child, which has metadata and annotations.
func encode(content map[string]any) body {
	b := body{text: append(make([]byte, 0, 1024), '{')}
	for i, key := range object.Keys(make([]string, 0, 8), content) {
		b.text = object.AppendKey(b.text, i, key)
		metadata, ok := content[key].(map[string]any)
		if key != "metadata" || !ok {
			b.text = object.Append(b.text, content[key])
			continue
		}
		b.text = append(b.text, '{')
		b.metadata = len(b.text)
		for i, key := range object.Keys(make([]string, 0, 8), metadata) {
			b.text = object.AppendKey(b.text, i, key)
			if key == "annotations" {
				b.annotations = len(b.text) + len("{")
			}
			b.text = object.Append(b.text, metadata[key])
		}
		b.text = append(b.text, '}')
	}
	b.text = append(b.text, '}')
	return b
}

// with returns the text with the hash, and one more member of metadata.
func (b body) with(hash, field, value string) []byte {
	out := make([]byte, 0, len(b.text)+len(v1.AnnotationHash)+len(hash)+len(field)+len(value)+16)
	out = append(out, b.text[:b.metadata]...)
	out = append(pair(out, field, value), b.text[b.metadata:b.annotations]...)
	return append(pair(out, v1.AnnotationHash, hash), b.text[b.annotations:]...)
}

// pair appends a member and the comma behind it.
func pair(b []byte, name, value string) []byte {
	return append(object.AppendText(object.AppendKey(b, 0, name), value), ',')
}

// hash tells one text from another: 32 hexadecimal digits.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
