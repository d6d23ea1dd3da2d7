package schema

import "k8s.io/apimachinery/pkg/runtime/schema"

// types is a Set whose types have been read.
type types struct {
	byKind map[schema.GroupVersionKind]*Type
	// whole reports whether a kind would be among them if there was one of that name.
	whole func(schema.GroupVersionKind) bool
}

func (t *types) Lookup(gvk schema.GroupVersionKind) (*Type, bool) {
	found, ok := t.byKind[gvk]
	return found, ok || !t.whole(gvk)
}

// Join returns a Set that asks one after the other: the first that knows the type of a kind tells it. A kind does not
// exist when one of them says so and none knows its type. Those that are nil know nothing.
func Join(sets ...Set) Set {
	var joined sequence
	for _, set := range sets {
		if set != nil {
			joined = append(joined, set)
		}
	}
	return joined
}

// MayHave returns a function that reports whether an object may have a value at a path, by the type of its kind. It returns nil where known
// is nil.
func MayHave(known Set) func(object map[string]any, path []string) bool {
	if known == nil {
		return nil
	}
	return func(object map[string]any, path []string) bool {
		apiVersion, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		t, _ := known.Lookup(schema.FromAPIVersionAndKind(apiVersion, kind))
		return t.MayHave(path)
	}
}

type sequence []Set

func (s sequence) Lookup(gvk schema.GroupVersionKind) (*Type, bool) {
	exists := true
	for _, set := range s {
		t, ok := set.Lookup(gvk)
		if t != nil {
			return t, true
		}
		exists = exists && ok
	}
	return nil, exists
}
