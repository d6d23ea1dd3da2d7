package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestSyntaxOfOtherLanguages has actions with the text that is reported, and what the message suggests.
func TestSyntaxOfOtherLanguages(t *testing.T) {
	for action, want := range map[string]string{
		`.spec.my-field`:               `.spec.my-field: a key with a hyphen cannot follow a dot: write index -> (index .spec "my-field")`,
		`.my-field`:                    `.my-field: a key with a hyphen cannot follow a dot: write index -> (index . "my-field")`,
		`$x.a-b`:                       `$x.a-b: a key with a hyphen cannot follow a dot: write index -> (index $x "a-b")`,
		`print "a" 'abc'`:              `'abc': text has double quotes`,
		`if eq .spec.a 'x y'`:          `'x y': text has double quotes`,
		`if .spec.a == "b"`:            `==: templates have no operators: write eq A B`,
		`if .spec.a != "="`:            `!=: templates have no operators: write ne A B`,
		`if .spec.a && .spec.b == 1`:   `&&: templates have no operators: write and A B`,
		`if .spec.a || .spec.b`:        `||: templates have no operators: write or A B`,
		`if !.spec.a`:                  `!: templates have no operators: write not A`,
		`if .spec.a > 1`:               `>: templates have no operators: write gt A B`,
		`if (.spec.a <= 1)`:            `<=: templates have no operators: write le A B`,
		`.spec.a + 1`:                  `+: templates have no operators: write add A B`,
		`.spec.a - 1`:                  `-: templates have no operators: write sub A B`,
		`.spec.a ? "x" : "y"`:          `?: templates have no operators: write ternary A B CONDITION`,
		`.spec.tags[0]`:                `[: templates have no brackets: write index LIST 0 or index MAP "key"`,
		`.spec."a"`:                    `."a": a key in quotes cannot follow a dot: write index MAP "key"`,
		`x := 1`:                       `x: names of variables begin with $`,
		"if .spec.é == \"b\"":          `==: templates have no operators: write eq A B`,
		`print "!=" "it's" undefined)`: `{{: unexpected right paren`,
	} {
		_, err := Parse(Source{Status: "a: b\nc: {{ " + action + " }}x{{ end }}"})
		var all Errors
		if !errors.As(err, &all) {
			t.Errorf("%s: no error", action)
			continue
		}
		e := all[0]
		line := []rune(strings.Split("a: b\nc: {{ "+action+" }}x{{ end }}", "\n")[e.Line-1])
		length := e.Length
		if length == 0 {
			length = 2
		}
		got := fmt.Sprintf("%s: %s", string(line[e.Column-1:e.Column-1+length]), e.Message)
		if e.Replacement != "" {
			got += " -> " + e.Replacement
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", action, got, want)
		}
	}
}
