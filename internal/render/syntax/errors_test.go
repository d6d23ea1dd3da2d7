package syntax

import (
	"errors"
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

func TestErrorsListAllFindings(t *testing.T) {
	first := &Error{Template: "helpers", Message: "one"}
	all := Errors{first, {Template: "status", Line: 2, Message: "two"}, {Template: "status", Line: 3, Column: 4, Message: "three"}}
	if got, want := all.Error(), "helpers: one; status:2: two; status:3:4: three"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i, each := range all {
		if !errors.Is(all, each) {
			t.Errorf("finding %d is not found", i)
		}
	}
}
