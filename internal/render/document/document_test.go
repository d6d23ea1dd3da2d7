package document

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

func TestParsingCostByContent(t *testing.T) {
	const (
		line, word, indicator, key, comma, bracket = costLine, costWord, costIndicator, costKey, costComma, costBracket
		quote, property, comment, closing          = costQuote, costProperty, costComment, costClosing
	)
	for text, want := range map[string]int{
		"": 0, "a": 0, "a\nb": line, "a\rb": line, "a b": word, "a\tb": word,
		"a:": key, "a: b": key + word, "a :": word + indicator, "\n- a": line + key + word, "\n  - a": line + key + 3*word, "\n- - a": line + key + indicator + 2*word, "\n" + strings.Repeat(" ", 38) + "-": line + 38*word + key, "\n" + strings.Repeat(" ", 39) + "-": line + 39*word + indicator, "\n?": line + indicator, "a:b": 0, ":b": indicator, "a:,": key + comma, "a:{": key + bracket, "[a:": bracket + costInFlow, "{\n---\na:": bracket + 2*line + indicator + key, "{\n---a:": bracket + line + costInFlow, "'a':b": quote + key, "]:b": closing + key, "a:\n": key + line,
		"?a": 0, "? a": indicator + word, "a?": indicator, "a-b": 0, "a-": indicator, "- b": indicator + word, "-\tb": indicator + word, "-é": indicator, "-!": 0, "-\u0080": indicator,
		"a,b": comma, "[a": bracket, "{a": bracket, "a]}": 2 * closing,
		"'a": quote, "\"a": quote, "*a": property, "!a": property, "&a": property, "#a": comment, "a'": 0, "a\"": 0, "a*": 0, "a!": 0, "a#": 0, "a '": word + quote, "a\x7f'": 0, "é'": quote,
		"''": 2 * quote, "\"'": 2 * quote, "]'": closing + quote, "}'": closing + quote, "['": bracket + quote, "('": 0, ",*a": comma + property, "a #": word + comment,
		"a\u0085": line, "a\u2028": line, "a\u2029": line, "a\u0105": 0, "a\u0128": 0, "a\u2668": 0, "a\u2629": 0,
	} {
		if got := parsingCost(text) - costParser - costByte*len(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestYAMLPositionsConvertToOffsets(t *testing.T) {
	const text = "é\r\nbc\rd\u0085e\u2028f\u2029g\u0105\u2668\u2629h\n"
	if diff := cmp.Diff([]int{0, 4, 7, 10, 14, 18, len(text)}, lineStarts(text)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	x := &token.Table{Meter: newMeter()}
	parsed, err := read(x, text, true)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[[2]int]int{{0, 1}: -1, {-1, 1}: -1, {1, 1}: 0, {1, 2}: 2, {2, 2}: 5, {6, 1}: 18, {7, 1}: len(text), {8, 1}: -1} {
		if got := parsed.offset(at[0], at[1]); got != want {
			t.Errorf("line %d, column %d: %d, want %d", at[0], at[1], got, want)
		}
	}
}

func TestDirectivesAreFound(t *testing.T) {
	for text, want := range map[string]int{"": -1, "a%": -1, "%a": 0, "\n%a": 1, "ab\n%": 3, " %a": -1} {
		if got := directive(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestTrailingBangsAreDetected(t *testing.T) {
	x := &token.Table{Meter: newMeter()}
	for text, want := range map[string]bool{"a": false, "!a": false, "a!b": false, "a!": true, "[!]": true, "[!,": true, "!}": true, "!{": true, "![": true, "! a": true, "!\ta": true, "!\n": true, "!\r": true, "!\u0085": true, "!\u2028": true, "!\u2029": true} {
		parsed, err := read(x, text, true)
		if err != nil || parsed.bangs != want {
			t.Errorf("%q: %v, want %v", text, parsed, want)
		}
	}
}

func TestBlockHeadersSetChomping(t *testing.T) {
	for header, want := range map[string]chomping{
		"": clip, "\n": clip, "-": strip, "+": keep, "2-": strip, "1+": keep, "9-\n": strip, "0-": clip, ":-": clip, " -": clip, "\n-": clip,
	} {
		if got := chompingOf(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
	for text, want := range map[string]string{"a": "a", "a\n": "a\n", "a\n\n": "a\n", "\n\n": "", "": ""} {
		if got := clip.chomp(text); got != want {
			t.Errorf("%q, clipped: %q, want %q", text, got, want)
		}
	}
}

// TestChompingIsFoundInBlockHeader finds the headers of block scalars, whose position is that of their anchor or tag.
func TestChompingIsFoundInBlockHeader(t *testing.T) {
	for text, want := range map[string]struct {
		c     chomping
		units int
		fails bool
	}{
		"|-":              {c: strip, units: 8},
		">+":              {c: keep, units: 8},
		"&a |-":           {c: strip, units: 8 + 3},
		"!!str\t&a\r\n|+": {c: keep, units: 8 + 6 + 4},
		"x":               {c: clip, units: 8, fails: true},
		"&a":              {c: clip, units: 8 + 2, fails: true},
		"":                {c: clip, units: 8, fails: true},
	} {
		x := &token.Table{Meter: newMeter()}
		parsed := &yamlText{content: text, starts: []int{0}}
		got, err := chompingIn(x, parsed, &yaml.Node{Line: 1, Column: 1})
		if got != want.c || (err != nil) != want.fails || budget.MaxWork-x.Work != want.units {
			t.Errorf("%q: %q, %v, %d units", text, got, err, budget.MaxWork-x.Work)
		}
		for units := range want.units {
			x.Work = units
			if _, err := chompingIn(x, parsed, &yaml.Node{Line: 1, Column: 1}); !errors.Is(err, budget.ErrWork) {
				t.Errorf("%q with %d units: %v", text, units, err)
			}
		}
	}
	x := &token.Table{Meter: newMeter()}
	if _, err := chompingIn(x, &yamlText{content: "|-", starts: []int{0}}, &yaml.Node{Line: 2, Column: 1}); err == nil {
		t.Error("a line that is not there: no error")
	}
}

// TestParserErrorsAreExplained keeps only messages that contain nothing but the author's text.
func TestParserErrorsAreExplained(t *testing.T) {
	text := &yamlText{content: "ab\nMcd", starts: []int{0, 3}}
	for why, row := range map[string]struct {
		err  error
		want Error
	}{
		"another error":                 {io.ErrUnexpectedEOF, Error{Offset: -1, Message: "the text is not valid YAML"}},
		"the scanner":                   {&yaml.LoadError{Stage: "scanner", Message: "so", Mark: yaml.Mark{Line: 1, Column: 2}}, Error{Offset: 1, Message: "YAML: so"}},
		"the parser":                    {&yaml.LoadError{Stage: "parser", Message: "so", Mark: yaml.Mark{Line: 1, Column: 1}}, Error{Offset: 0, Message: "YAML: so"}},
		"the composer":                  {&yaml.LoadError{Stage: "composer", Message: "so", Mark: yaml.Mark{Line: 2, Column: 2}}, Error{Offset: 4, Message: "YAML: so"}},
		"the reader":                    {&yaml.LoadError{Stage: "reader", Message: "so"}, Error{Offset: -1, Message: "YAML: a character or a tag is not allowed"}},
		"a token in the words":          {&yaml.LoadError{Stage: "parser", Message: "so M"}, Error{Offset: -1, Message: "YAML: a value is not allowed here; print it as a scalar or part of a scalar"}},
		"a token at the place":          {&yaml.LoadError{Stage: "parser", Message: "so", Mark: yaml.Mark{Line: 2, Column: 1}}, Error{Offset: 3, Message: "YAML: a value is not allowed here; print it as a scalar or part of a scalar"}},
		"the place is before the token": {&yaml.LoadError{Stage: "parser", Message: "so", Mark: yaml.Mark{Line: 1, Column: 3}}, Error{Offset: 2, Message: "YAML: so"}},
	} {
		got, ok := errors.AsType[*Error](text.explain(row.err, "M"))
		if !ok || *got != row.want {
			t.Errorf("%s: %+v, want %+v", why, got, row.want)
		}
	}
	text = &yamlText{content: "M", starts: []int{0}}
	want := Error{Offset: 0, Message: "YAML: a value is not allowed here; print it as a scalar or part of a scalar"}
	got, ok := errors.AsType[*Error](text.explain(&yaml.LoadError{Stage: "parser", Message: "so", Mark: yaml.Mark{Line: 1, Column: 1}}, "M"))
	if !ok || *got != want {
		t.Errorf("a token at the beginning: %+v", got)
	}
}

func TestIsGap(t *testing.T) {
	for c, want := range map[byte]bool{' ': true, '\n': true, 0: true, 0x80: true, 0xff: true, '!': false, 0x7f: false} {
		if got := isGap(c); got != want {
			t.Errorf("%#x: %v, want %v", c, got, want)
		}
	}
}

// newMeter returns a meter with plenty of everything left.
func newMeter() budget.Meter {
	return budget.Meter{Work: budget.MaxWork, Output: 4 << 20, Nodes: 100_000}
}
