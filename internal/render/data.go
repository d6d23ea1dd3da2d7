package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// closed is a map with a fixed set of keys: the data that a template sees at
// its root, and the children by name. Its values are made when asked for.
type closed struct {
	syntax.Keys
	view *view
	load func(v *view, key string) (any, error)
}

// get returns the value of a key.
func (c *closed) get(key string) (any, error) {
	if err := c.Check(key); err != nil {
		return nil, err
	}
	return c.load(c.view, key)
}

// all returns an ordinary map with the same content.
func (c *closed) all() (map[string]any, error) {
	m := make(map[string]any, len(c.Names))
	for _, key := range c.Names {
		v, err := c.get(key)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}

// normal turns what JSON decoders make into the types that the renderer
// works with: nil, bool, string, int64, float64, []any and map[string]any,
// besides its own. The content of lists and maps is left for later.
func normal(v any) (any, error) {
	switch n := v.(type) {
	case nil, bool, string, int64, []any, map[string]any, rendered, derived, *closed:
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
		return normal(float64(n))
	case json.Number:
		return parseNumber(string(n))
	}
	return nil, fmt.Errorf("data has a %T, which is not JSON", v)
}

// parseNumber reads a JSON number: an int64 if it is written as an integer, a
// float64 otherwise. An integer beyond int64 is an error, for a float64 would
// not be exact.
func parseNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, errors.New("an integer does not fit in 64 bits; quote it to make it a string")
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, errors.New("a number is too large")
	}
	return f, nil
}

// field returns the value of a key of v, nil when the key is missing. A field
// of a list or of a scalar is an error.
func field(v any, key string) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return normal(v[key])
	case *closed:
		return v.get(key)
	}
	return nil, fmt.Errorf("%s has no fields, so there is no .%s in it", kindOf(v), key)
}

// kindOf names the kind of a value for people.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "a missing value"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case string, derived, rendered:
		return "a string"
	case []any:
		return "a list"
	}
	return "a map"
}

// keys returns the keys of m in order.
func (x *exec) keys(m map[string]any) ([]string, error) {
	size := len(m) * costEntry
	for key := range m {
		size += len(key)
	}
	if err := x.Charge(size); err != nil {
		return nil, err
	}
	return sortedKeys(m), nil
}

// truth reports whether if takes v as true, as text/template has it. Rendered
// text counts by the characters it stands for.
func (x *exec) truth(v any) bool {
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
	return !x.empty(v)
}

// empty reports whether default replaces v: it is missing, "", [] or {}.
func (x *exec) empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case derived:
		return v == ""
	case rendered:
		_ = x.Charge(len(v)) // when this fails, so does the next step
		return x.blank(string(v))
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case *closed:
		return len(v.Names) == 0
	}
	return false
}

// blank reports whether text stands for no characters at all.
func (x *exec) blank(text string) bool {
	for {
		before, tok, after, ok := x.tokens.next(text)
		if before != "" {
			return false
		}
		if !ok {
			return true
		}
		if tok == nil || tok.value != "" || tok.mode == yamlScalar {
			return false
		}
		text = after
	}
}

// sortedKeys returns the keys of m in order, without paying for it.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
