package token

import (
	"strings"
	"testing"
	"unsafe"
)

// TestTokenEncodings has the text of a token for each mode, and the upper bound of its size.
func TestTokenEncodings(t *testing.T) {
	for text, want := range map[Token]struct {
		encoded string
		size    int
	}{
		{int64(5), AsIs}:             {"5", 32},
		{int64(5), YAMLScalar}:       {"5", 32},
		{1.5, DoubleQuoted}:          {"1.5", 32},
		{`a'"\`, AsIs}:               {`a'"\`, 4},
		{`a'"\`, Verbatim}:           {`a'"\`, 4},
		{`a'"\'`, SingleQuoted}:      {`a''"\''`, 7},
		{`a'"\`, DoubleQuoted}:       {`a'\"\\`, 8},
		{"a", YAMLScalar}:            {"a", 3},
		{"a ", YAMLScalar}:           {`"a "`, 4},
		{"\n", YAMLScalar}:           {`"\n"`, 8},
		{"\x1f ~", DoubleQuoted}:     {`\u001f ~`, 10},
		{"\x7f", DoubleQuoted}:       {`\u007f`, 8},
		{"\u0080\u2028", YAMLScalar}: {`"\u0080\u2028"`, 32},
		{"é\u00a0", DoubleQuoted}:    {"é\u00a0", 26},
	} {
		if got := text.encoded(); got != want.encoded || text.encodedSize() != want.size || len(got) > want.size {
			t.Errorf("%#v: %q and %d, want %q and %d", text, got, text.encodedSize(), want.encoded, want.size)
		}
	}
}

func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a ~": "a ~", `"`: `\"`, `\`: `\\`, "\n": `\n`, "\t": `\t`, "\r": `\r`, "\x00": `\u0000`, "\x1f": `\u001f`, "\x7f": `\u007f`,
		"\u0080": `\u0080`, "\u009f": `\u009f`, "\u00a0": "\u00a0", "\u2027": "\u2027", "\u2028": `\u2028`, "\u2029": `\u2029`, "\u202a": "\u202a",
		"\ufeff": `\ufeff`, "\U0001f600": "\U0001f600", "a\"b\"": `a\"b\"`,
	} {
		if got := escape(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if plain := strings.Repeat("a ~", 100); unsafe.StringData(escape(plain)) != unsafe.StringData(plain) {
		t.Error("text that needs no escapes is copied")
	}
}

func TestFloatFormatting(t *testing.T) {
	for number, want := range map[float64]string{
		0: "0", 1: "1", -1.5: "-1.5", 1e-6: "0.000001", 9.5e-7: "9.5e-07", -9.5e-7: "-9.5e-07", 1e20: "100000000000000000000", 1e21: "1e+21", -1e21: "-1e+21",
	} {
		if got := FormatFloat(number); got != want {
			t.Errorf("%v: %s, want %s", number, got, want)
		}
	}
	if got := ScalarText([]any{}); got != "" {
		t.Errorf("a list: %q", got)
	}
}

func TestPlainSafeText(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "z": true, "A": true, "Z": true, "_a": true, "/a": true, "a0": true, "a9": true, "aZ": true, "a.b/c": true, "a b": true, "a:b": true,
		"": false, "9a": false, "-a": false, "a ": false, "a:": false, "a  b": false, "a: b": false, "a;": false, "[a": false, "a\n": false, "é": false, "Yes": false,
	} {
		if got := plainSafe(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
