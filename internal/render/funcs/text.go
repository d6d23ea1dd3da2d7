package funcs

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func trimAll(c *data.Call) any {
	set, s := c.Str(0), c.Str(1)
	if !c.Pay(len(s) * len(set) / 8) { // worst case of strings.Trim
		return nil
	}
	return strings.Trim(s, set)
}

// sprigFuncs are sprig's functions, for those of ours that only wrap them.
var sprigFuncs = sprig.TxtFuncMap()

// sprigFunc returns a sprig function by name. It panics if F is not its type.
func sprigFunc[F any](name string) F { return sprigFuncs[name].(F) }

// text1 returns a function of one string whose result is at most grow times as
// long.
func text1(grow int, do func(string) string) func(*data.Call) any {
	return grown(grow, func(c *data.Call) string { return c.Str(0) }, do)
}

// escaper returns a function of any number of arguments whose result is at
// most grow times as long as that of print.
func escaper(grow int, do func(string) string) func(*data.Call) any {
	return grown(grow, printed, do)
}

func grown(grow int, read func(*data.Call) string, do func(string) string) func(*data.Call) any {
	return func(c *data.Call) any {
		s := read(c)
		if !c.Pay(grow * len(s)) {
			return nil
		}
		return do(s)
	}
}

func replace(c *data.Call) any {
	old, to, s := c.Str(0), c.Str(1), c.Str(2)
	if !c.Pay(len(s)) || !c.PayFor(strings.Count(s, old), len(to)) {
		return nil
	}
	return strings.ReplaceAll(s, old, to)
}

func repeat(c *data.Call) any {
	n, s := c.Integer(0), c.Str(1)
	if n < 0 {
		return c.Fail("argument 1 is negative")
	}
	if len(s) == 0 || !c.PayFor(int(n), len(s)) {
		return ""
	}
	return strings.Repeat(s, int(n))
}

// startAt returns the offset of the first character of s that begins at byte n or later.
func startAt(s string, n int) int {
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

// trunc counts bytes, like sprig, but never splits a character.
func trunc(c *data.Call) any {
	n, s := c.Integer(0), c.Str(1)
	switch {
	case n >= 0 && n < int64(len(s)):
		return syntax.Cut(s, int(n))
	case n < 0 && n > -int64(len(s)):
		return s[startAt(s, len(s)+int(n)):]
	}
	return s
}

func substr(c *data.Call) any {
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

func abbrev(c *data.Call) any {
	width, s := c.Integer(0), c.Str(1)
	if width < 4 || int64(len(s)) <= width {
		return s
	}
	return syntax.Cut(s, int(width)-3) + "..."
}

func abbrevboth(c *data.Call) any {
	left, right, s := c.Integer(0), c.Integer(1), c.Str(2)
	if right < 4 || left > 0 && right < 7 || int64(len(s)) <= right {
		return s
	}
	// Like sprig, with byte offsets, but without splitting characters.
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

// clampInt limits n to 32 bits, so that arithmetic in third-party code cannot overflow.
func clampInt(n int64) int { return int(min(max(n, math.MinInt32), math.MaxInt32)) }

func plural(c *data.Call) any {
	if c.Integer(2) == 1 {
		return c.Str(0)
	}
	return c.Str(1)
}

// joinArgs returns all arguments as strings, joined by sep.
func joinArgs(c *data.Call, sep string) string {
	parts := make([]string, len(c.Args))
	for i := range c.Args {
		parts[i] = c.Str(i)
	}
	return join(c, parts, sep)
}

func join(c *data.Call, parts []string, sep string) string {
	size := len(parts) * len(sep)
	for _, p := range parts {
		size += len(p)
	}
	if !c.Pay(size) {
		return ""
	}
	return strings.Join(parts, sep)
}

// printed returns all arguments as one string, with a space between two if
// neither is a string, like fmt.Print.
func printed(c *data.Call) string {
	parts := make([]string, 0, 2*len(c.Args))
	for i := range c.Args {
		if i > 0 && !data.IsText(c.Args[i-1]) && !data.IsText(c.Args[i]) {
			parts = append(parts, " ")
		}
		parts = append(parts, c.Str(i))
	}
	return join(c, parts, "")
}

// trim trims white space, but never that of values in rendered text.
func trim(c *data.Call) any {
	if r, ok := c.Args[0].(token.Rendered); ok {
		if !c.Pay(len(r)) {
			return nil
		}
		return token.Rendered(strings.TrimSpace(string(r)))
	}
	return strings.TrimSpace(c.Str(0))
}

// indent indents each line of rendered text. Plain text becomes one token,
// whose later lines are indented if it ends up in a block scalar; elsewhere, it
// is a value without indentation.
func indent(c *data.Call, before string) any {
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
// that kind of quotes. Like sprig, it separates several by spaces.
func quoted(c *data.Call, mark byte, m token.Mode) any {
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

// dnsLabel keeps letters, digits and dashes, and replaces the rest by dashes. A
// changed label gets a hash suffix, so that different texts get different labels.
func dnsLabel(c *data.Call) any {
	const longestLabel, hashLength = 63, 8
	s := c.Str(0)
	if !c.Pay(2 * len(s)) {
		return nil
	}
	label := strings.Trim(strings.Map(labelRune, strings.ToLower(s)), "-")
	if label == "" {
		return c.Fail("the text has no letter or digit for a name")
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

// shellQuote returns a token that is never indented, because every character
// between the quotes counts.
func shellQuote(c *data.Call) any {
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
