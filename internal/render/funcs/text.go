package funcs

import (
	"math"
	"net/url"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"

	"github.com/templater-dev/templater/internal/render/call"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// sprigFuncs are sprig's own functions, for those that we only wrap.
var sprigFuncs = sprig.TxtFuncMap()

// sprigFunc returns a function of sprig by name; a wrong type fails at start.
func sprigFunc[F any](name string) F { return sprigFuncs[name].(F) }

// text1 registers functions of one text whose result is at most grow times as
// long.
func (g group) text1(name string, grow int, doc string, do func(string) string) {
	g.add(names(name), 1, 1, doc, func(c *call.Call) any {
		s := c.Str(0)
		if !c.Pay(grow * len(s)) {
			return nil
		}
		return do(s)
	})
}

// escaper registers a function of any number of arguments whose result is at
// most grow times as long as print's.
func (g group) escaper(name string, grow int, doc string, do func(string) string) {
	g.add(names(name), 0, -1, doc, func(c *call.Call) any {
		s := printed(c)
		if !c.Pay(grow * len(s)) {
			return nil
		}
		return do(s)
	})
}

func init() {
	g := group{source: "sprig", rendered: syntax.Expands}
	g.text1("upper", 3, "the text in upper case", strings.ToUpper)
	g.text1("lower", 3, "the text in lower case", strings.ToLower)
	g.text1("title", 3, "the text with each word's first letter in upper case", sprigFunc[func(string) string]("title"))
	g.text1("untitle", 3, "the text with each word's first letter in lower case", sprigFunc[func(string) string]("untitle"))
	g.text1("swapcase", 3, "the text with upper and lower case swapped", sprigFunc[func(string) string]("swapcase"))
	g.text1("nospace", 1, "the text without white space", sprigFunc[func(string) string]("nospace"))
	g.text1("initials", 1, "the first letters of the words", sprigFunc[func(string) string]("initials"))
	g.text1("snakecase", 8, "the text in snake_case", sprigFunc[func(string) string]("snakecase"))
	g.text1("camelcase", 8, "the text in CamelCase", sprigFunc[func(string) string]("camelcase"))
	g.text1("kebabcase", 8, "the text in kebab-case", sprigFunc[func(string) string]("kebabcase"))
	g.add(names("trimAll", "trimall"), 2, 2, "the second text without characters of the first at its ends",
		func(c *call.Call) any {
			set, s := c.Str(0), c.Str(1)
			if !c.Pay(len(s) * len(set) / 8) { // as strings.Trim may take
				return nil
			}
			return strings.Trim(s, set)
		})
	g.add(names("trimSuffix"), 2, 2, "the second text without the first at its end",
		func(c *call.Call) any { return strings.TrimSuffix(c.Str(1), c.Str(0)) })
	g.add(names("trimPrefix"), 2, 2, "the second text without the first at its beginning",
		func(c *call.Call) any { return strings.TrimPrefix(c.Str(1), c.Str(0)) })
	g.add(names("contains"), 2, 2, "whether the second text contains the first",
		func(c *call.Call) any { return strings.Contains(c.Str(1), c.Str(0)) })
	g.add(names("hasPrefix"), 2, 2, "whether the second text begins with the first",
		func(c *call.Call) any { return strings.HasPrefix(c.Str(1), c.Str(0)) })
	g.add(names("hasSuffix"), 2, 2, "whether the second text ends with the first",
		func(c *call.Call) any { return strings.HasSuffix(c.Str(1), c.Str(0)) })
	g.add(names("replace"), 3, 3, "the third text with each first text replaced by the second", replace)
	g.add(names("repeat"), 2, 2, "the second text, as often as the first argument says", repeat)
	g.add(names("trunc"), 2, 2, "the first characters of the text or, if negative, the last", trunc)
	g.add(names("substr"), 3, 3, "the characters from the first position to before the second; a negative one means the end", substr)
	g.add(names("abbrev"), 2, 2, "the text cut to a length, with ... at its end", abbrev)
	g.add(names("abbrevboth"), 3, 3, "the text cut at both ends, with ... there", abbrevboth)
	g.add(names("wrap"), 2, 2, "the text with line ends after a number of characters",
		func(c *call.Call) any { return wrap(c, "\n", c.Str(1), false) })
	g.add(names("wrapWith"), 3, 3, "the text with a separator after a number of characters",
		func(c *call.Call) any { return wrap(c, c.Str(1), c.Str(2), true) })
	g.add(names("cat"), 1, -1, "the texts with spaces between them", func(c *call.Call) any { return joinArgs(c, " ") })
	g.add(names("plural"), 3, 3, "the first text if the number is 1, else the second", plural)
	g.add(names("toString"), 1, 1, "a number, a boolean or a text as text", func(c *call.Call) any { return c.Str(0) })
	g.add(names("hello"), 0, 0, "a greeting", func(*call.Call) any { return "Hello!" })

	b := group{source: "text/template", rendered: syntax.Expands}
	b.add(names("print"), 0, -1, "the texts one after the other, with spaces between operands that are not strings", func(c *call.Call) any { return printed(c) })
	b.add(names("println"), 0, -1, "the texts with spaces between them and a line end", func(c *call.Call) any { return joinArgs(c, " ") + "\n" })
	b.escaper("html", 6, "the texts, put together as by print, with HTML's special characters escaped", template.HTMLEscapeString)
	b.escaper("js", 6, "the texts, put together as by print, as they stand between quotes in JavaScript", template.JSEscapeString)
	b.escaper("urlquery", 3, "the texts, put together as by print, as they stand in the query of a URL", url.QueryEscape)

	k := group{source: "sprig", rendered: syntax.Keeps}
	k.add(names("trim"), 1, 1, "the text without white space at its ends", trim)
	k.add(names("indent"), 2, 2, "the text with its lines indented", func(c *call.Call) any { return indent(c, "") })
	k.add(names("nindent"), 2, 2, "the text on a new line with its lines indented", func(c *call.Call) any { return indent(c, "\n") })
	k.add(names("quote"), 1, -1, "the texts in double quotes", func(c *call.Call) any { return quoted(c, '"', token.DoubleQuoted) })
	k.add(names("squote"), 1, -1, "the texts in single quotes", func(c *call.Call) any { return quoted(c, '\'', token.SingleQuoted) })

	o := group{source: "templater", rendered: syntax.Expands}
	o.add(names("dnsLabel"), 1, 1, "a valid name of at most 63 characters; one that differs from the text ends with a hash of it", dnsLabel)
	s := group{source: "templater", rendered: syntax.Keeps}
	s.add(names("shellQuote"), 1, 1, "the text as one word of a POSIX shell", shellQuote)
}

func replace(c *call.Call) any {
	old, to, s := c.Str(0), c.Str(1), c.Str(2)
	if !c.Pay(len(s)) || !c.PayFor(strings.Count(s, old), len(to)) {
		return nil
	}
	return strings.ReplaceAll(s, old, to)
}

func repeat(c *call.Call) any {
	n, s := c.Integer(0), c.Str(1)
	if n < 0 {
		return c.Fail("argument 1 is negative")
	}
	if len(s) == 0 || !c.PayFor(int(n), len(s)) {
		return ""
	}
	return strings.Repeat(s, int(n))
}

// startAt returns where the first character begins at byte n of s or later.
func startAt(s string, n int) int {
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

// trunc counts bytes, as sprig does, but never cuts a character in two.
func trunc(c *call.Call) any {
	n, s := c.Integer(0), c.Str(1)
	switch {
	case n >= 0 && n < int64(len(s)):
		return syntax.Cut(s, int(n))
	case n < 0 && n > -int64(len(s)):
		return s[startAt(s, len(s)+int(n)):]
	}
	return s
}

func substr(c *call.Call) any {
	from, to, s := c.Integer(0), c.Integer(1), c.Str(2)
	if to < 0 || to > int64(len(s)) {
		to = int64(len(s))
	}
	from = min(max(from, 0), int64(len(s)))
	if from > to {
		return c.Fail("argument 1 is greater than argument 2")
	}
	head := syntax.Cut(s, int(to))
	return head[startAt(head, min(int(from), len(head))):]
}

func abbrev(c *call.Call) any {
	width, s := c.Integer(0), c.Str(1)
	if width < 4 || int64(len(s)) <= width {
		return s
	}
	return syntax.Cut(s, int(width)-3) + "..."
}

func abbrevboth(c *call.Call) any {
	left, right, s := c.Integer(0), c.Integer(1), c.Str(2)
	if right < 4 || left > 0 && right < 7 || int64(len(s)) <= right {
		return s
	}
	// Like sprig, with positions in bytes, but for characters cut in two.
	width, offset := int(right), int(min(left, int64(len(s))))
	offset = min(offset, len(s)-(width-3))
	switch {
	case offset <= 4:
		return syntax.Cut(s, width-3) + "..."
	case offset+width-3 >= len(s):
		return "..." + s[startAt(s, len(s)-(width-3)):]
	}
	from := startAt(s, offset)
	return "..." + syntax.Cut(s[from:], width-6) + "..."
}

// clampInt keeps arithmetic within third-party code from overflowing.
func clampInt(n int64) int { return int(min(max(n, math.MinInt32), math.MaxInt32)) }

func plural(c *call.Call) any {
	if c.Integer(2) == 1 {
		return c.Str(0)
	}
	return c.Str(1)
}

// joinArgs returns all arguments as text with sep between them.
func joinArgs(c *call.Call, sep string) string {
	parts := make([]string, len(c.Args))
	for i := range c.Args {
		parts[i] = c.Str(i)
	}
	return join(c, parts, sep)
}

func join(c *call.Call, parts []string, sep string) string {
	size := len(parts) * len(sep)
	for _, p := range parts {
		size += len(p)
	}
	if !c.Pay(size) {
		return ""
	}
	return strings.Join(parts, sep)
}

// printed returns all arguments as text, with a space between two if neither
// is a string, as fmt.Print does.
func printed(c *call.Call) string {
	parts := make([]string, 0, 2*len(c.Args))
	for i := range c.Args {
		if i > 0 && !data.IsText(c.Args[i-1]) && !data.IsText(c.Args[i]) {
			parts = append(parts, " ")
		}
		parts = append(parts, c.Str(i))
	}
	return join(c, parts, "")
}

// trim trims the text itself, never the values in it.
func trim(c *call.Call) any {
	if r, ok := c.Args[0].(token.Rendered); ok {
		if !c.Pay(len(r)) {
			return nil
		}
		return token.Rendered(strings.TrimSpace(string(r)))
	}
	return strings.TrimSpace(c.Str(0))
}

// indent puts spaces before each line of rendered text. Plain text becomes
// one token, whose later lines get that indentation where it ends up in a
// block scalar; elsewhere, it is a value and has no indentation.
func indent(c *call.Call, before string) any {
	n := c.Integer(0)
	if n < 0 || n > 1000 {
		return c.Fail("argument 1 must be from 0 to 1000")
	}
	var s string
	switch v := c.Args[1].(type) {
	case token.Rendered:
		s = string(v)
	case token.Derived:
		return c.Fail("text of several lines that was computed from rendered text cannot be indented; " +
			"put the text in a define block and indent what include yields")
	default:
		s = string(c.Add(nil, c.Str(1), token.AsIs))
	}
	if !c.Pay(len(before) + len(s) + (strings.Count(s, "\n")+1)*int(n)) {
		return nil
	}
	margin := strings.Repeat(" ", int(n))
	return token.Rendered(before + margin + strings.ReplaceAll(s, "\n", "\n"+margin))
}

// quoted puts each argument between quotes, as a token that is encoded for
// that kind of quotes. As in sprig, several are separated by spaces.
func quoted(c *call.Call, mark byte, m token.Mode) any {
	var out []byte
	for i := range c.Args {
		if i > 0 {
			out = append(out, ' ')
		}
		out = append(out, mark)
		out = c.Add(out, c.Str(i), m)
		out = append(out, mark)
	}
	return token.Rendered(out)
}

// dnsLabel keeps letters, digits and dashes; all else becomes a dash. A name that
// is not the text itself gets a hash, so that no two texts become one name.
func dnsLabel(c *call.Call) any {
	const longestLabel, hashLength = 63, 8
	s := c.Str(0)
	if !c.Pay(2 * len(s)) {
		return nil
	}
	label := strings.Trim(strings.Map(labelRune, strings.ToLower(s)), "-")
	if label == "" {
		return c.Fail("the text has no letter or digit to make a name of")
	}
	if label == s && len(label) <= longestLabel {
		return label
	}
	label = label[:min(len(label), longestLabel-hashLength-1)]
	return strings.TrimRight(label, "-") + "-" + hash256(s)[:hashLength]
}

func labelRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// shellQuote yields a token that never gets indentation, since every
// character between the quotes counts.
func shellQuote(c *call.Call) any {
	s := c.Str(0)
	if strings.IndexByte(s, 0) >= 0 {
		return c.Fail("the text has a NUL character, which no shell can pass on")
	}
	if n := strings.Count(s, "'"); !c.Pay(len(s) + 3*n + 2) {
		return nil
	}
	word := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	return token.Rendered(c.Add(nil, word, token.Verbatim))
}
