package object

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// checkRoundTrip checks that content round-trips in both formats that the server parses: apply requests as YAML, all others as JSON.
func checkRoundTrip(t *testing.T, content map[string]any) {
	t.Helper()
	text := Append(nil, content)
	for how, read := range map[string]func([]byte, any) error{
		"YAML": func(b []byte, into any) error { return yaml.UnmarshalStrict(b, into) },
		"JSON": json.Unmarshal,
	} {
		var got map[string]any
		if err := read(text, &got); err != nil {
			t.Errorf("%q as %s: %v", text, how, err)
		} else if diff := cmp.Diff(content, got); diff != "" {
			t.Errorf("%q as %s (-sent +read):\n%s", text, how, diff)
		}
	}
}

func TestEveryRuneRoundTripsThroughYAML(t *testing.T) {
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		// YAML has special rules for the first and the last character, and at the ends of lines.
		if c := string(r); r < 0x3000 || r >= 0xd000 && r < 0x10100 || r%997 == 0 || r&0xfffe == 0xfffe {
			checkRoundTrip(t, map[string]any{c: c, "in": "a" + c + "b: c " + c + c + " d", "at the end": "a " + c})
		}
	}
}

func TestSpecialYAMLStringsRoundTrip(t *testing.T) {
	for _, s := range []string{"", "<<", "~", "null", "true", "no", "1", "0x1", "1e3", "2001-01-01", "!!str a", "&a", "*a", "- a", "a: b", "a #b", "? a", "%YAML 1.1", "---\n...", "\\u0085", "\\/", "'", "\"", "{{", "\r\n", " a ", "\ta\t"} {
		checkRoundTrip(t, map[string]any{s: s, "list": []any{s, s}, "map": map[string]any{"k": s}})
	}
}

// The hash of a child is a hash of its text, so another encoding of the same data would update all children.
func TestAppendEscapesOnlyWhatYAMLReadsDifferently(t *testing.T) {
	for s, want := range map[string]string{
		"é\u00a0語\ufffd\ue000\U0001f600~ /<&":  `"é` + "\u00a0" + `語` + "\ufffd\ue000\U0001f600" + `~ /<&"`,
		"\x00\b\t\n\f\r\x1f\"\\\x7f\u009f":     `"\u0000\b\t\n\f\r\u001f\"\\\u007f\u009f"`,
		"\u2027\u2028\u2029\u202a\ufeff\uffff": "\"\u2027" + `\u2028\u2029` + "\u202a" + `\ufeff\uffff"`,
	} {
		if got := string(AppendText(nil, s)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	text := AppendText(nil, "a\xff\xc2b\xed\xa0\x80\xe2\x80")
	if got, want := string(text), "\"a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd\""; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLongKeyMatchesYAMLLimit(t *testing.T) {
	for why, row := range map[string]struct {
		content map[string]any
		want    string
	}{
		"the longest that can be read":      {map[string]any{"a": map[string]any{strings.Repeat("é", MaxKeyLength-2): "x"}}, ""},
		"one more":                          {map[string]any{"a": map[string]any{"b": []any{0.0, map[string]any{strings.Repeat("é", MaxKeyLength-1): "x"}}}}, "a.b[1]"},
		"escapes count as they are written": {map[string]any{"a": map[string]any{strings.Repeat("\u0085", MaxKeyLength/6): "x"}}, ""},
		"escapes that are too many":         {map[string]any{"a": map[string]any{strings.Repeat("\u0085", MaxKeyLength/6+1): "x"}}, "a"},
		"at the top":                        {map[string]any{strings.Repeat("a", MaxKeyLength): "x"}, "."},
		"a long value":                      {map[string]any{"a": strings.Repeat("a", 2*MaxKeyLength)}, ""},
	} {
		t.Run(why, func(t *testing.T) {
			if got := LongKey(row.content); got != row.want {
				t.Fatalf("got %q, want %q", got, row.want)
			}
			var got map[string]any
			if err := yaml.UnmarshalStrict(Append(nil, row.content), &got); (err != nil) != (row.want != "") {
				t.Errorf("YAML reads it with error %v", err)
			}
		})
	}
}

// FuzzAppend checks that any text round-trips, as a value and as a key, unless LongKey reports that the key is too long.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"a", "a\u0085b: c", "\u2028", "\x7f", "\ufffe", "\ufeff", "\U0001f600", "\xff", "<<", strings.Repeat("a", MaxKeyLength)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd")
		content := map[string]any{"value": s, "list": []any{s}, "key": map[string]any{s: "x"}}
		if LongKey(content) == "" {
			checkRoundTrip(t, content)
			return
		}
		if yaml.Unmarshal(Append(nil, content), &map[string]any{}) == nil {
			t.Errorf("a key of %d bytes is taken for too long", len(s))
		}
		delete(content, "key")
		checkRoundTrip(t, content)
	})
}
