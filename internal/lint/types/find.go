package types

import (
	"maps"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Limits of the search for suggestions.
const (
	maxLooks  = 2_000_000
	maxLevels = 3
	// lookCost is what looking at one type costs, where a letter of a key that is compared with another one costs 1.
	lookCost = 100
	maxKnown = 12 // number of keys that are all listed
)

// Finder searches for suggestions. It is not safe for concurrent use.
type Finder struct {
	left int // remaining types and letters to visit
}

// NewFinder returns a Finder with the search budget of one check.
func NewFinder() *Finder { return &Finder{left: maxLooks} }

// Nearest returns the most similar known key, or "".
func (f *Finder) Nearest(key string, known []string) string {
	near := known[:0:0]
	for _, k := range known {
		if f.left -= 1 + len(k); f.left < 0 {
			return ""
		}
		if len(k)-len(key) <= len(key)/3+1 && len(key)-len(k) <= len(key)/3+1 || len(k) > len(key) && strings.EqualFold(k[:len(key)], key) {
			f.left -= len(k) * len(key)
			near = append(near, k)
		}
	}
	slices.Sort(near)
	return syntax.Nearest(key, near)
}

// Keys returns the sorted keys of a map, or none if there are too many.
func (f *Finder) Keys(v *Value) []string {
	const cost = 10
	data, _ := v.Data.(map[string]any)
	n := len(data) + len(v.Keys)
	if v.Type != nil {
		n += len(v.Type.Fields)
	}
	if f.left -= cost * n; f.left < 0 {
		return nil
	}
	switch {
	case data != nil:
		return slices.Sorted(maps.Keys(data))
	case v.Keys != nil:
		return slices.Sorted(maps.Keys(v.Keys))
	case v.Type != nil:
		return slices.Sorted(maps.Keys(v.Type.Fields))
	}
	return nil
}

// elsewhere returns where the object has a field of that name, near the place where it was looked for, or "". It is sure
// where the name is long enough to be no accident.
func (f *Finder) elsewhere(o *Origin, key string) (where string, sure bool) {
	if o == nil || o.Source != FromSchema {
		return "", false
	}
	const short = 4
	for at := o; at != nil; at = at.Up {
		if at != o && has(at.Type, key) {
			return at.InWords(), len(key) >= short
		}
		if path := f.Within(at.Type, key); path != "" {
			return strings.TrimSuffix(at.Path, "[]") + path, len(key) >= short
		}
	}
	return "", false
}

// Within returns the path from a type down to the nearest one that has the key, or "".
func (f *Finder) Within(t *openapi.Type, key string) string {
	next := []inside{{t, ""}}
	for range maxLevels {
		var deeper []inside
		for _, at := range next {
			deeper = f.deeper(deeper, at)
		}
		for _, at := range deeper {
			if has(at.t, key) {
				return at.path
			}
		}
		next = deeper
	}
	return ""
}

func has(t *openapi.Type, key string) bool {
	if t == nil {
		return false
	}
	_, ok := t.Fields[key]
	return ok
}

// inside is a type nested in another one.
type inside struct {
	t    *openapi.Type
	path string
}

// deeper adds the types directly below a type.
func (f *Finder) deeper(all []inside, at inside) []inside {
	if at.t == nil || f.left <= 0 {
		return all
	}
	if at.t.Fields == nil && at.t.Items != nil {
		all = append(all, inside{at.t.Items, at.path + "[]"})
	}
	for _, name := range slices.Sorted(maps.Keys(at.t.Fields)) {
		if f.left -= lookCost; f.left <= 0 {
			break
		}
		all = append(all, inside{at.t.Fields[name].Type, at.path + "." + name})
	}
	return all
}

// Misspelled reports whether a key that a map cannot have is like one that it has.
func (f *Finder) Misspelled(n *Note) bool { return f.Nearest(n.Key, f.Keys(n.In)) != "" }
