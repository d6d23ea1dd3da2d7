package data

import "github.com/templater-dev/templater/internal/render/token"

// Truth reports whether if takes v as true, as text/template has it. Rendered
// text counts by the characters it stands for, by the tokens in t.
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
		_ = t.Charge(len(v)) // when this fails, so does the next step
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
