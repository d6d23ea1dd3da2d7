package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadValues(t *testing.T) {
	for text, want := range map[string]struct {
		values map[string]any
		err    string
	}{
		`{}`:   {values: map[string]any{}},
		`null`: {},
		`{"a": 1, "b": 1.5, "c": [2, {"d": 3}], "e": {"f": 1e2}, "g": "1", "h": null, "i": true, "j": 9007199254740993}`: {values: map[string]any{
			"a": int64(1), "b": 1.5, "c": []any{int64(2), map[string]any{"d": int64(3)}}, "e": map[string]any{"f": 100.0},
			"g": "1", "h": nil, "i": true, "j": int64(9007199254740993),
		}},
		`[]`:                           {err: "spec.values is not a mapping"},
		`{`:                            {err: "spec.values is not a mapping"},
		`{"a": 99999999999999999999}`:  {err: "spec.values.a: an integer does not fit in 64 bits; quote it to make it a string"},
		`{"a": {"b": [1, 1e999]}}`:     {err: "spec.values.a.b[1]: a number is too large"},
		`{"": 1e999}`:                  {err: "spec.values['']: a number is too large"},
		`{"a.b/c": 1e999, "z": 1e999}`: {err: "spec.values['a.b/c']: a number is too large"},
		`{"a": [[1e999]]}`:             {err: "spec.values.a[0][0]: a number is too large"},
	} {
		got, err := ReadValues("spec.values", []byte(text))
		message := ""
		if err != nil {
			message = err.Error()
		}
		if diff := cmp.Diff(want.values, got); diff != "" || message != want.err {
			t.Errorf("%s: %s, want %s\n%s", text, message, want.err, diff)
		}
	}
}
