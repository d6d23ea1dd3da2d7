package fields

import (
	"hash/maphash"

	"github.com/templater-dev/templater/internal/kube/object"
)

var seed = maphash.MakeSeed()

// Hash returns a hash of the fields that the set holds, and of their values in current; it is not 0. Fields of others and the order of items
// that are owned one by one do not count. Nobody outside of the process can tell which values have one hash.
func (f Set) Hash(current any) uint32 {
	return max(1, uint32(f.sum(current))) //nolint:gosec // any bits will do
}

// member is a field or an item by the key of the set, and the sum of what is below it.
type member struct {
	key string
	sum uint64
}

func (f Set) sum(current any) uint64 {
	if len(f) == 0 {
		return maphash.Bytes(seed, object.Append(make([]byte, 0, 64), current))
	}
	var sum uint64 // the same in any order
	switch current := current.(type) {
	case map[string]any:
		for name, value := range current {
			if below, ok := f.Field(name); ok {
				sum += maphash.Comparable(seed, member{name, below.sum(value)})
			}
		}
	case []any:
		for _, element := range current {
			if key, below, ok := f.item(element); ok {
				sum += maphash.Comparable(seed, member{key, below.sum(element)})
			}
		}
	}
	return sum
}
