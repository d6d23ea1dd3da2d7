package typed

import (
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/lint/typed/value"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/schema"
)

// How far suggestions are looked for.
const (
	maxLevels = 3
	// lookCost is what looking at one type costs, where a letter of a key that is compared with another one costs 1.
	lookCost = 100
)

// nearest returns the known key that may have been meant, or "".
func (c *checker) nearest(key string, known []string) string {
	near := known[:0:0]
	for _, k := range known {
		if c.looks -= 1 + len(k); c.looks < 0 {
			return ""
		}
		if len(k)-len(key) <= len(key)/3+1 && len(key)-len(k) <= len(key)/3+1 || len(k) > len(key) && strings.EqualFold(k[:len(key)], key) {
			c.looks -= len(k) * len(key)
			near = append(near, k)
		}
	}
	slices.Sort(near)
	return syntax.Nearest(key, near)
}

// elsewhere returns where the object has a field of that name, near the place where it was looked for, or "". It is sure
// where the name is long enough to be no accident.
func (c *checker) elsewhere(o *value.Origin, key string) (where string, sure bool) {
	if o == nil || o.Source != value.FromSchema {
		return "", false
	}
	const short = 4
	for at := o; at != nil; at = at.Up {
		if at != o && has(at.Type, key) {
			return at.InWords(), len(key) >= short
		}
		if path := within(at.Type, key, maxLevels, &c.looks); path != "" {
			return strings.TrimSuffix(at.Path, "[]") + path, len(key) >= short
		}
	}
	return "", false
}

func has(t *schema.Type, key string) bool {
	if t == nil {
		return false
	}
	_, ok := t.Fields[key]
	return ok
}

// within returns the path from a type down to the nearest one that has the key, or "".
func within(t *schema.Type, key string, levels int, left *int) string {
	next := []inside{{t, ""}}
	for range levels {
		var deeper []inside
		for _, at := range next {
			deeper = at.deeper(deeper, left)
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

// inside is a type within another one.
type inside struct {
	t    *schema.Type
	path string
}

// deeper adds the types that are right below one.
func (at inside) deeper(all []inside, left *int) []inside {
	if at.t == nil || *left <= 0 {
		return all
	}
	if at.t.Fields == nil && at.t.Items != nil {
		all = append(all, inside{at.t.Items, at.path + "[]"})
	}
	for _, name := range sortedKeys(at.t.Fields) {
		if *left -= lookCost; *left <= 0 {
			break
		}
		all = append(all, inside{at.t.Fields[name].Type, at.path + "." + name})
	}
	return all
}

// below returns the rest of a path where the key is further down, as it can be written in its place.
func below(o *value.Origin, where, key string) string {
	rest, ok := strings.CutPrefix(where, o.Path+".")
	if !ok || strings.Contains(rest, "[]") {
		return ""
	}
	return rest + "." + key
}

// instead says how the items of a list are got at, or where the field is.
func (c *checker) instead(o *value.Origin, key string) string {
	if o == nil || o.Type == nil {
		return ""
	}
	switch {
	case o.Type.Kinds&schema.List != 0 && has(o.Type.Items, key):
		return "; its items have it: use range, first or index"
	case o.Type.Kinds&schema.List != 0:
		return "; use range, first or index"
	}
	if where, _ := c.elsewhere(o, key); where != "" {
		return "; it is in " + where
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
