package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// ReadValues reads a JSON object: numbers that are written as integers become int64 and stay exact, others become float64; null
// becomes nil. The error says where in this field the fault is.
func ReadValues(field string, text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("%s is not a mapping", field) // the decoder's message may quote it
	}
	if err := readNumbers(field, values); err != nil {
		return nil, err
	}
	return values, nil
}

// NumberError reports a number that cannot be represented.
type NumberError struct{ Path, Message string }

// Error returns the path and the reason.
func (e *NumberError) Error() string { return e.Path + ": " + e.Message }

// readNumbers replaces json.Number in a map or list by values.
func readNumbers(path string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			n, err := readNumber(path+pathOf(key), v[key])
			if err != nil {
				return err
			}
			v[key] = n
		}
	case []any:
		for i := range v {
			n, err := readNumber(fmt.Sprintf("%s[%d]", path, i), v[i])
			if err != nil {
				return err
			}
			v[i] = n
		}
	}
	return nil
}

func readNumber(path string, v any) (any, error) {
	n, isNumber := v.(json.Number)
	if !isNumber {
		return v, readNumbers(path, v)
	}
	number, err := token.ParseNumber(string(n))
	if err != nil {
		return nil, &NumberError{syntax.OneLine(path), err.Error()}
	}
	return number, nil
}

// pathOf returns a key as part of a path for the function collect.
func pathOf(key string) string {
	if key == "" || strings.ContainsAny(key, ".[]'/ ") {
		return "['" + key + "']"
	}
	return "." + key
}

// APath describes the syntax of a path.
const APath = "a path such as status.phase or metadata.labels['a.b/c']"

// Path returns the keys of a dotted path, in which ['a.b/c'] is a key with dots, or false if the text is not a path. The path may
// begin with a dot.
func Path(text string) (keys []string, ok bool) {
	for rest := strings.TrimPrefix(text, "."); rest != ""; {
		var key string
		if key, rest = cutKey(rest, len(keys) == 0); key == "" {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, len(keys) > 0
}

// cutKey splits off the first key of a path; "" if it is invalid.
func cutKey(s string, first bool) (key, rest string) {
	if after, quoted := strings.CutPrefix(s, "['"); quoted {
		key, rest, found := strings.Cut(after, "']")
		if !found {
			return "", ""
		}
		return key, rest
	}
	if !first {
		after, dotted := strings.CutPrefix(s, ".")
		if !dotted {
			return "", ""
		}
		s = after
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}
