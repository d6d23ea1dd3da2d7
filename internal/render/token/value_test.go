package token

import "testing"

func TestNumbersAreExact(t *testing.T) {
	for text, want := range map[string]any{
		"0": int64(0), "-9223372036854775808": int64(-1 << 63), "9223372036854775808": nil, "0.1": 0.1, "1e3": 1000.0, "1E3": 1000.0, "1e400": nil,
	} {
		if got, err := ParseNumber(text); got != want || (err != nil) != (want == nil) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for want, all := range map[string][]any{
		"a missing value": {nil}, "a boolean": {true}, "a number": {int64(1), 1.5}, "a string": {"", Derived(""), Rendered("")}, "a list": {[]any{}}, "a map": {map[string]any{}},
	} {
		for _, v := range all {
			if got := KindOf(v); got != want {
				t.Errorf("%T: %s, want %s", v, got, want)
			}
		}
	}
}
