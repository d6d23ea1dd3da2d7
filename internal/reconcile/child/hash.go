package child

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"maps"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Hash returns a hash of a text, as 32 hexadecimal digits.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// ContentHash returns a hash of an object without its metadata and status, because controllers write these, too.
func ContentHash(content map[string]any) int64 {
	content = maps.Clone(content)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	return int64(maphash.Bytes(Seed, object.Append(nil, content))) //nolint:gosec // a hash may be negative
}

// Seed is the seed for version hashes.
var Seed = maphash.MakeSeed()

// Fingerprint returns a hash of the identities and versions of the children.
func Fingerprint(children []*Live) uint64 {
	var h maphash.Hash
	h.SetSeed(Seed)
	for _, l := range children {
		AddVersion(&h, l.Object)
	}
	return h.Sum64()
}

// AddVersion adds the UID and resource version of an object to a hash.
func AddVersion(h *maphash.Hash, o *object.Object) {
	_, _ = h.WriteString(string(o.UID())) // writing to a maphash never fails
	_ = h.WriteByte('@')
	_, _ = h.WriteString(o.ResourceVersion())
	_ = h.WriteByte(' ')
}
