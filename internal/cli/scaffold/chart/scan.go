package chart

import (
	"regexp"
	"strings"
)

// action is one {{ … }} of a template.
type action struct {
	start, end int // including the delimiters
	tokens     []token
}

// tokenKind is the kind of a token.
type tokenKind int

const (
	wordToken   tokenKind = iota // a keyword or a function
	pathToken                    // .a.b, $.a, $x.a, or a lone . or $
	textToken                    // a string
	numberToken                  // or a character constant
	markToken                    // ( ) | , := =
)

// token is a token of an action, with its place in the template.
type token struct {
	kind       tokenKind
	start, end int
	value      string
}

// tokenForms are the patterns of tokens, in the order in which they are tried.
var tokenForms = []struct {
	kind tokenKind
	form *regexp.Regexp
}{
	{textToken, regexp.MustCompile("^(?:\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)")},
	{pathToken, regexp.MustCompile(`^(?:\$[A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*|(?:\.[A-Za-z_][A-Za-z0-9_]*)+|\.)`)},
	{wordToken, regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)},
	{numberToken, regexp.MustCompile(`^(?:[-+]?[0-9][0-9A-Za-z_.]*|'(?:[^'\\]|\\.)*')`)},
	{markToken, regexp.MustCompile(`^(?::=|[(),|=])`)},
}

// actions returns the actions of a template, without comments.
func actions(template string) []action {
	var all []action
	for at := 0; ; {
		open := strings.Index(template[at:], "{{")
		if open < 0 {
			return all
		}
		start := at + open
		inner := start + 2
		if strings.HasPrefix(template[inner:], "- ") || strings.HasPrefix(template[inner:], "-\n") || strings.HasPrefix(template[inner:], "-\t") {
			inner++
		}
		if trimmed := strings.TrimLeft(template[inner:], " \t\r\n"); strings.HasPrefix(trimmed, "/*") {
			closing := strings.Index(trimmed, "*/")
			if closing < 0 {
				return all
			}
			at = len(template) - len(trimmed) + closing
			if end := strings.Index(template[at:], "}}"); end >= 0 {
				at += end + 2
			}
			continue
		}
		one, ok := scan(template, start, inner)
		if !ok {
			return all // the parser reports it
		}
		all = append(all, one)
		at = one.end
	}
}

// scan returns the tokens of an action.
func scan(template string, start, at int) (action, bool) {
	a := action{start: start}
	for at < len(template) {
		rest := template[at:]
		if strings.HasPrefix(rest, "}}") || strings.HasPrefix(rest, "-}}") {
			a.end = at + strings.Index(rest, "}}") + 2
			return a, true
		}
		length := 1 // white space and unknown characters
		for _, of := range tokenForms {
			if m := of.form.FindString(rest); m != "" {
				a.tokens = append(a.tokens, token{of.kind, at, at + len(m), m})
				length = len(m)
				break
			}
		}
		at += length
	}
	return a, false
}

// keyword returns the keyword at the beginning of an action, or "".
func (a *action) keyword() string {
	if len(a.tokens) > 0 {
		return a.tokens[0].value
	}
	return ""
}

// operand returns the index after the operand at token i: one token, or an expression in parentheses.
func (a *action) operand(i int) int {
	depth := 0
	for ; i < len(a.tokens); i++ {
		switch a.tokens[i].value {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth <= 0 {
			i++
			if i < len(a.tokens) && a.tokens[i-1].value == ")" && a.tokens[i].kind == pathToken && a.tokens[i].start == a.tokens[i-1].end {
				i++ // (…).field
			}
			return i
		}
	}
	return i
}

// command returns the index after the command that contains token i: a pipe, a parenthesis or the action ends it.
func (a *action) command(i int) int {
	for i < len(a.tokens) {
		if t := a.tokens[i]; t.kind == markToken && t.value != "(" {
			return i
		}
		i = a.operand(i)
	}
	return i
}

// define is a define block of a file.
type define struct {
	name, text string
	file       string
	line       int
}

// split extracts the define blocks of a template. The rest keeps its number of lines.
func split(file, template string) (defines []define, rest string) {
	var out strings.Builder
	depth, begin, name, last := 0, -1, "", 0
	for _, a := range actions(template) {
		switch a.keyword() {
		case "define":
			if depth == 0 && len(a.tokens) > 1 {
				begin, name = a.start, strings.Trim(a.tokens[1].value, "\"`")
			}
			depth++
		case "if", "with", "range", "block":
			depth++
		case "end":
			depth--
			if depth == 0 && begin >= 0 {
				defines = append(defines, define{name, template[begin:a.end], file, 1 + strings.Count(template[:begin], "\n")})
				out.WriteString(template[last:begin])
				out.WriteString(strings.Repeat("\n", strings.Count(template[begin:a.end], "\n")))
				last, begin = a.end, -1
			}
		}
	}
	out.WriteString(template[last:])
	return defines, out.String()
}
