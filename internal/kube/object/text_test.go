package object

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLineSanitizesText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"as it is: é 日本 😀 – \"…\"":             "as it is: é 日本 😀 – \"…\"",
		"two\nlines":                           "two lines",
		"a\r\n\tb\u0085c\u2028d\u2029e\u00a0f": "a   b c d e f",
		"\x00a\x1b[2J\x7f":                     "\ufffda\ufffd[2J\ufffd",
		"\u202ea\u200b\ufeff\u00ad\ue000":      "\ufffda\ufffd\ufffd\ufffd\ufffd",
		"\xffa\xc3":                            "\ufffda\ufffd",
		strings.Repeat("a", 30):                strings.Repeat("a", 30),
		strings.Repeat("a", 31):                strings.Repeat("a", 27) + "…",
		strings.Repeat("\x01", 30):             strings.Repeat("\ufffd", 9) + "…",
	} {
		got := Line(text, 30)
		if want == "as it is: é 日本 😀 – \"…\"" {
			got = Line(text, 100)
		}
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if again := Line(got, 100); again != got {
			t.Errorf("%q: a second time %q", got, again)
		}
	}
}

func TestLineOfPlainTextAllocatesNothing(t *testing.T) {
	text := strings.Repeat("all children are ready ", 10)
	if n := testing.AllocsPerRun(100, func() { _ = Line(text, 1000) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
