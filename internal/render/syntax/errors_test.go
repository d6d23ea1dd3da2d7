package syntax

import (
	"strings"
	"testing"
)

// TestMessagesAreOneLine cuts messages at 1024 characters.
func TestMessagesAreOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a":                                      "a",
		" a \n b\t":                              "a b",
		strings.Repeat("é", 1024):                strings.Repeat("é", 1024),
		strings.Repeat("é", 1025):                strings.Repeat("é", 1023) + "…",
		strings.Repeat("a", 1025):                strings.Repeat("a", 1023) + "…",
		"a" + strings.Repeat(" ", 5000) + "b":    "a…",
		"a" + strings.Repeat(" ", 4094) + "b":    "a b",
		"a" + strings.Repeat(" ", 4095) + "b":    "a…",
		strings.Repeat("\U0001f600", 1024):       strings.Repeat("\U0001f600", 1024),
		strings.Repeat("\U0001f600", 1024) + "a": strings.Repeat("\U0001f600", 1023) + "…",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%.20q: %d characters", text, len([]rune(got)))
		}
	}
}
