package object

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Append appends JSON data to b as compact JSON with sorted keys, so that equal data has equal text. The data must have the types
// that Content returns. Append panics on any other type, which is a bug in the caller, and encodes NaN and infinities as null.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		return appendMap(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = Append(b, item)
		}
		return append(b, ']')
	case string:
		return AppendText(b, v)
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return appendFloat(b, v)
	}
	panic(fmt.Sprintf("object.Append: %T is not JSON data", v))
}

func appendMap(b []byte, m map[string]any) []byte {
	b = append(b, '{')
	for i, key := range Keys(make([]string, 0, 16), m) {
		b = Append(AppendKey(b, i, key), m[key])
	}
	return append(b, '}')
}

// AppendKey appends the key of member i of an object, preceded by a comma unless it is the first.
func AppendKey(b []byte, i int, key string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(AppendText(b, key), ':')
}

// Keys appends the sorted keys of m to keys. It does not allocate if keys is empty and has enough capacity.
func Keys(keys []string, m map[string]any) []string {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}

// From creates an Object from JSON data. See Append for the types.
func From(content map[string]any) (*Object, error) { return Decode(Append(nil, content)) }
