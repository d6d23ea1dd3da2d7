package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// Closed is a map with a fixed set of keys: the root data of a template, and the children by name. Its values are computed on demand.
type Closed struct {
	syntax.Keys
	view *View
	load func(v *View, key string) (any, error)
}

// Get returns the value of a key.
func (c *Closed) Get(key string) (any, error) {
	if err := c.Check(key); err != nil {
		return nil, err
	}
	return c.load(c.view, key)
}

// All returns an ordinary map with the same contents.
func (c *Closed) All() (map[string]any, error) {
	m := make(map[string]any, len(c.Names))
	for _, key := range c.Names {
		v, err := c.Get(key)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}

// Normal converts decoded JSON to the types that the renderer uses: nil, bool, string, int64, float64, []any and map[string]any. The
// contents of lists and maps are converted later.
func Normal(v any) (any, error) {
	switch n := v.(type) {
	case nil, bool, string, int64, []any, map[string]any, token.Rendered, token.Derived, *Closed:
		return v, nil
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, errors.New("a number is not finite")
		}
		return v, nil
	case int:
		return int64(n), nil
	case int32:
		return int64(n), nil
	case float32:
		return Normal(float64(n))
	case json.Number:
		return token.ParseNumber(string(n))
	}
	return nil, fmt.Errorf("data has a %T, which is not JSON", v)
}

// Field returns the value of a key of v, nil when the key is missing. A field
// of a list or of a scalar is an error.
func Field(v any, key string) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return Normal(v[key])
	case *Closed:
		return v.Get(key)
	}
	return nil, fmt.Errorf("%s has no fields, so it has no .%s", token.KindOf(v), key)
}

// Keys returns the sorted keys of m, and charges for them.
func Keys(m map[string]any, b *budget.Meter) ([]string, error) {
	size := len(m) * budget.CostEntry
	for key := range m {
		size += len(key)
	}
	if err := b.Charge(size); err != nil {
		return nil, err
	}
	return sortedKeys(m), nil
}

// sortedKeys returns the sorted keys of m, without charging for them.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Truth reports whether v is true, as in text/template. Rendered text is judged by the characters that the tokens in t stand for.
func Truth(v any, t *token.Table) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	}
	return !Empty(v, t)
}

// Empty reports whether default replaces v: it is missing, "", [] or {}.
func Empty(v any, t *token.Table) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case token.Derived:
		return v == ""
	case token.Rendered:
		_ = t.Charge(len(v)) // if this fails, so does the next step
		return t.Blank(string(v))
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case *Closed:
		return len(v.Names) == 0
	}
	return false
}

// IsCollection reports whether v is a list or a map.
func IsCollection(v any) bool {
	switch v.(type) {
	case []any, map[string]any, *Closed:
		return true
	}
	return false
}

// IsText reports whether v is text of any kind.
func IsText(v any) bool {
	switch v.(type) {
	case string, token.Derived, token.Rendered:
		return true
	}
	return false
}
