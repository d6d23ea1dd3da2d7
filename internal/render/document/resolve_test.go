package document

import (
	"strings"
	"testing"
)

// TestPlainScalarResolution covers scalars that the author wrote without quotes.
func TestPlainScalarResolution(t *testing.T) {
	const octal, boolean = "has different meanings", "is a boolean in some"
	for text, want := range map[string]any{
		"": nil, "~": nil, "~a": "~a", "null": nil, "Null": nil, "NULL": nil, "nULL": "error: " + boolean, "nulls": "nulls", "true": true, "True": true, "TRUE": true,
		"tRUE": "error: " + boolean, "false": false, "False": false, "FALSE": false, "fALSE": "error: " + boolean, "falsey": "falsey", "falses": "falses", "abcdef": "abcdef", "on": "error: " + boolean,
		"0": int64(0), "9": int64(9), "+9": int64(9), "-9": int64(-9), "90": int64(90), "/9": "/9", ":9": ":9", "9a": "9a", "9z": "9z", "1.": 1.0, ".5": 0.5, ".": ".", "-": "-", "+": "+", "1e2": 100.0, "1E+2": 100.0,
		"0.5": 0.5, "1e": "1e", "0x1f": int64(31), "-0x1f": int64(-31), "0x": "0x", "0xg": "0xg", "0x1_f": "error: " + octal, "00": "error: " + octal, "1_0": "error: " + octal, "0o7": "error: " + octal, "0o8": "0o8",
		".inf": "error: JSON has no number", "+.Inf": "error: JSON has no number", ".NAN": "error: JSON has no number", "-.nan": "-.nan", "1e999": "error: the number 1e999 is too large", "99999999999999999999": "error: an integer does not fit",
		"0x8000000000000000": "error: the integer 0x8000000000000000 does not fit", "1-2": "1-2", "1.2.3": "1.2.3", "100m": "100m", "1Gi": "1Gi",
	} {
		got, err := resolve(text)
		if message, fails := want.(string); fails && strings.HasPrefix(message, "error: ") {
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(message, "error: ")) {
				t.Errorf("%q: %v, %v, want %s", text, got, err, message)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: %v (%T), %v, want %v", text, got, got, err, want)
		}
	}
}
