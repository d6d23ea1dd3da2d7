package render

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/token"
)

func TestExpressionFunctions(t *testing.T) {
	yield(t, map[string]string{
		`regexMatch "^a+$" "aaa"`:                   `true`,
		`regexMatch "^a+$" "b"`:                     `false`,
		`regexFind "b+" "abba"`:                     `"bb"`,
		`regexFind "x" "abba"`:                      `""`,
		`regexFindAll "[ab]" "abba" -1`:             `["a","b","b","a"]`,
		`regexFindAll "[ab]" "abba" 2`:              `["a","b"]`,
		`regexFindAll "[ab]" "abba" 0`:              `[]`,
		`regexFindAll "a(.*b)?" "aaaaaaab" -1`:      `["aaaaaaab"]`,
		`regexFindAll "a(.*c)?" "aaaaaaab" -1`:      `["a","a","a","a","a","a","a"]`,
		`regexFindAll "a(.*c)?" "aaaaaaab" 3`:       `["a","a","a"]`,
		`regexFindAll "a(.*c)?" "aaaaaaab" 4`:       `["a","a","a","a"]`,
		`regexFindAll "a(.*c)?" "aaaaaaab" 5`:       `["a","a","a","a","a"]`,
		`regexFindAll "x(.*c)?" "aaaaaaab" 5`:       `[]`,
		`regexFindAll "a" "aa" 9223372036854775807`: `["a","a"]`,
		`regexSplit "," "a,b,c" -1`:                 `["a","b","c"]`,
		`regexSplit "," "a,b,c" 2`:                  `["a","b,c"]`,
		`regexSplit "," "a,b,c" 0`:                  `[]`,
		`regexSplit "," "abc" -1`:                   `["abc"]`,
		`regexReplaceAll "a(.)" "abac" "${1}x$$"`:   `"bx$cx$"`,
		`regexReplaceAll "x" "abac" "y"`:            `"abac"`,
		`regexReplaceAllLiteral "a(.)" "abac" "$1"`: `"$1$1"`,
		`regexQuoteMeta "a.b"`:                      `"a\\.b"`,
		`regexMatch (repeat 1000 "a") "a"`:          `false`,
		`regexMatch (repeat 1001 "a") "a"`:          `error: regexMatch: the expression is longer than 1000 bytes`,
		`regexMatch "(" "a"`:                        `error: regexMatch: argument 1 is not a regular expression`,
		`regexMatch "a{1001}" "a"`:                  `error: regexMatch: argument 1 is not a regular expression`,
		`regexMatch "(?:a{100}){20}" "a"`:           `error: regexMatch: argument 1 is not a regular expression`,
		`regexMatch "(?:ab{40}){48}" "a"`:           `error: regexMatch: argument 1 is not a regular expression`,
		`regexMatch "(?:ab{40}){52}" "a"`:           `error: regexMatch: argument 1 is not a regular expression`,
		`regexMatch "(?:a{1000,}){2,}b" "a"`:        `error: regexMatch: argument 1 is not a regular expression`,
		`regexFind "(" "a"`:                         `error: regexFind: argument 1 is not a regular expression`,
		`regexFindAll "(" "a" 1`:                    `error: regexFindAll: argument 1 is not a regular expression`,
		`regexSplit "(" "a" 1`:                      `error: regexSplit: argument 1 is not a regular expression`,
		`regexReplaceAll "(" "a" "b"`:               `error: regexReplaceAll: argument 1 is not a regular expression`,
		`regexReplaceAll "a" (list) "b"`:            `error: regexReplaceAll: argument 2 is a list, not text; toJson makes text of it`,
		`regexMatch "a" (list)`:                     `error: regexMatch: argument 2 is a list, not text; toJson makes text of it`,
		`regexFind "a" (list)`:                      `error: regexFind: argument 2 is a list, not text; toJson makes text of it`,
		`regexFindAll "a" "a" "x"`:                  `error: regexFindAll: argument 3 is text that is not a whole decimal number`,
		`regexSplit "a" "a" "x"`:                    `error: regexSplit: argument 3 is text that is not a whole decimal number`,
		`regexMatch "(?i)é" "É"`:                    `true`,
		`regexMatch "\\pL" "é"`:                     `true`,
		`regexMatch "(?:ab{40}){20}" "a"`:           `false`,
		`regexMatch "(?:x{250}|y){7}zz" "a"`:        `error: regexMatch: argument 1 is not a regular expression`,
		`regexMatch "x{999}y{999}zz" "a"`:           `error: regexMatch: the expression is too large; use smaller repetition counts`,
		`regexMatch "x{999}y{999}zzz" "a"`:          `error: regexMatch: the expression is too large; use smaller repetition counts`,
		`regexMatch "x{999}y{999}" "a"`:             `error: regexMatch: the expression is too large; use smaller repetition counts`,
		`regexMatch "(x{40}){24}y{999}" "a"`:        `error: regexMatch: the expression is too large; use smaller repetition counts`,
	})
}

func TestExpressionsThatLookFar(t *testing.T) {
	for text, want := range map[string]bool{"a{20}b": false, "a(.*b)?": true, "a.*b": false, "(a|b{16})c": false, "(a|b{17})c": true, "(?:a(b{17}))?": true, "a(b{17})": false, "(?:(?:a{9}|b)(?:c{9}|d))?": true} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := looksFar(tree, false); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestLargestExpression has expressions of just as many instructions as are compiled, and of one more.
func TestLargestExpression(t *testing.T) {
	for more, want := range map[int]error{0: nil, 1: errors.New("regexMatch: the expression is too large; use smaller repetition counts")} {
		text, size := "", 0
		for n := 1; size < largestExpression+more; n++ {
			text = "a{990}" + strings.Repeat("c", n)
			tree, err := syntax.Parse(text, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			size = instructions(tree)
		}
		c := &call{x: &exec{Table: token.Table{Meter: newBudget()}}, f: functions["regexMatch"], args: []any{text, "a"}}
		if e := c.expression(); (e != nil) != (want == nil) || want != nil && (c.err == nil || c.err.Error() != want.Error()) {
			t.Errorf("%s, of %d: %v", text, size, c.err)
		}
	}
}
