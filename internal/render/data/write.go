package data

import (
	"bytes"
	"errors"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// AppendPrinted appends the output of an action: a token for a string, number or boolean, flow YAML with tokens for a map or list, and
// rendered text unchanged.
func AppendPrinted(out []byte, v any, t *token.Table) ([]byte, error) {
	if r, ok := v.(token.Rendered); ok {
		if err := t.Charge(budget.CostGrown * len(r)); err != nil {
			return out, err
		}
		return append(out, r...), nil
	}
	if _, missing := v.(token.Missing); missing {
		return t.AddMissing(out), nil
	}
	w := writer{tokens: t, out: out, strings: token.AsIs}
	if IsCollection(v) {
		w.strings = token.YAMLScalar
	}
	err := w.flow(v, 0)
	return w.out, err
}

// costValue is the cost of writing a scalar, map or list, in units of work.
const costValue = 96

// writer writes data as YAML or JSON whose scalars are tokens.
type writer struct {
	tokens  *token.Table
	out     []byte
	strings token.Mode
	pretty  bool // JSON on several lines
}

// enter charges for a value, and returns an error for data that is nested too deeply.
func (w *writer) enter(depth int) error {
	if depth > budget.MaxDepth {
		return budget.ErrDeep
	}
	return w.tokens.Charge(costValue)
}

// scalar writes a token, or null.
func (w *writer) scalar(v any) error {
	v, err := w.plain(v)
	if err != nil {
		return err
	}
	switch v.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case string:
		w.string(v)
	case bool, int64, float64:
		w.out = w.tokens.Add(w.out, v, token.AsIs)
	default:
		return errors.New("internal: not a scalar")
	}
	return nil
}

// string writes the token of the string s, between double quotes if its mode requires them.
func (w *writer) string(s any) {
	if w.strings != token.DoubleQuoted {
		w.out = w.tokens.Add(w.out, s, w.strings)
		return
	}
	w.out = append(w.out, '"')
	w.out = w.tokens.Add(w.out, s, token.DoubleQuoted)
	w.out = append(w.out, '"')
}

// plain converts rendered and derived text to a plain string, and returns all other values unchanged.
func (w *writer) plain(v any) (any, error) {
	switch v := v.(type) {
	case token.Rendered:
		return w.tokens.Expand(v)
	case token.Derived:
		return string(v), nil
	}
	return v, nil
}

// flow writes a value on one line, as flow YAML or, with tokens between double quotes, as JSON.
func (w *writer) flow(v any, depth int) error {
	if err := w.enter(depth); err != nil {
		return err
	}
	v, err := Normal(v)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case []any:
		return w.flowList(v, depth)
	case map[string]any:
		return w.flowMap(v, depth)
	case *Closed:
		m, err := v.All()
		if err != nil {
			return err
		}
		return w.flowMap(m, depth)
	}
	return w.scalar(v)
}

// keys returns the sorted keys of m, and charges for their tokens.
func (w *writer) keys(m map[string]any) ([]string, error) {
	if err := w.tokens.Charge(costValue * len(m)); err != nil {
		return nil, err
	}
	return Keys(m, &w.tokens.Meter)
}

func (w *writer) flowList(list []any, depth int) error {
	w.out = append(w.out, '[')
	for i, item := range list {
		w.separate(i, depth+1)
		if err := w.flow(item, depth+1); err != nil {
			return err
		}
	}
	w.close(']', len(list), depth)
	return nil
}

func (w *writer) flowMap(m map[string]any, depth int) error {
	keys, err := w.keys(m)
	if err != nil {
		return err
	}
	w.out = append(w.out, '{')
	for i, key := range keys {
		w.separate(i, depth+1)
		w.string(key)
		w.out = append(w.out, ':')
		if w.pretty || w.strings != token.DoubleQuoted {
			w.out = append(w.out, ' ')
		}
		if err := w.flow(m[key], depth+1); err != nil {
			return err
		}
	}
	w.close('}', len(m), depth)
	return nil
}

// separate writes the separator before the i-th item of a collection.
func (w *writer) separate(i, depth int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
	switch {
	case w.pretty:
		w.newLine(2 * depth)
	case i > 0 && w.strings != token.DoubleQuoted:
		w.out = append(w.out, ' ')
	}
}

func (w *writer) close(bracket byte, items, depth int) {
	if w.pretty && items > 0 {
		w.newLine(2 * depth)
	}
	w.out = append(w.out, bracket)
}

// newLine charges for more than it writes, because a growing buffer is copied. If the budget is exceeded here, it is also exceeded for
// the next value.
func (w *writer) newLine(indent int) {
	_ = w.tokens.Charge(4 * indent)
	w.out = append(w.out, '\n')
	w.out = append(w.out, bytes.Repeat([]byte{' '}, indent)...)
}

// block writes a value as block YAML. The current line must end at column indent; a list below a key starts at the key's column.
func (w *writer) block(v any, indent, depth int) error {
	if err := w.enter(depth); err != nil {
		return err
	}
	v, err := Normal(v)
	if err != nil {
		return err
	}
	if c, ok := v.(*Closed); ok {
		if v, err = c.All(); err != nil {
			return err
		}
	}
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			return w.blockList(v, indent, depth)
		}
		w.out = append(w.out, "[]"...)
		return nil
	case map[string]any:
		if len(v) > 0 {
			return w.blockMap(v, indent, depth)
		}
		w.out = append(w.out, "{}"...)
		return nil
	}
	return w.scalar(v)
}

func (w *writer) blockList(list []any, indent, depth int) error {
	for i, item := range list {
		if i > 0 {
			w.newLine(indent)
		}
		w.out = append(w.out, "- "...)
		if err := w.block(item, indent+2, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) blockMap(m map[string]any, indent, depth int) error {
	keys, err := w.keys(m)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i > 0 {
			w.newLine(indent)
		}
		w.string(key)
		w.out = append(w.out, ':')
		if err := w.underKey(m[key], indent, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// underKey writes the value of a key: on separate lines if it is a map or list that is not empty.
func (w *writer) underKey(v any, indent, depth int) error {
	switch {
	case !IsCollection(v) || Empty(v, w.tokens):
		w.out = append(w.out, ' ')
	default:
		if _, isList := v.([]any); !isList {
			indent += 2
		}
		w.newLine(indent)
	}
	return w.block(v, indent, depth)
}

// YAML returns v as block YAML without a final line end.
func YAML(v any, t *token.Table) (token.Rendered, error) {
	w := writer{tokens: t, strings: token.YAMLScalar}
	err := w.block(v, 0, 0)
	return token.Rendered(w.out), err
}

// JSON returns v as JSON, on one line or, if pretty, on several.
func JSON(v any, pretty bool, t *token.Table) (token.Rendered, error) {
	w := writer{tokens: t, strings: token.DoubleQuoted, pretty: pretty}
	err := w.flow(v, 0)
	return token.Rendered(w.out), err
}
