package render

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// yamlText is text that is read as YAML. It does not change.
type yamlText struct {
	content  string
	cost     int   // of parsing it
	starts   []int // offsets of lines, as YAML counts them
	bangs    bool  // whether a tag "!" may be in there
	template bool  // whether it came from a template: in plain data nothing is a token
}

// hasBang reports whether the tag "!" may be in there.
func hasBang(content string) bool {
	for {
		_, after, found := strings.Cut(content, "!")
		if !found {
			return false
		}
		if after == "" || isGap(after[0]) || strings.IndexByte(",[]{}", after[0]) >= 0 {
			return true
		}
		content = after
	}
}

// syntaxError is an error of the YAML text at an offset.
type syntaxError struct {
	offset  int
	message string
}

func (e *syntaxError) Error() string { return e.message }

// read pays for parsing text, as much each time, before that is done.
func (x *exec) read(content string, template bool) (*yamlText, error) {
	cost := parsingCost(content)
	if err := x.Charge(cost); err != nil {
		return nil, err
	}
	return &yamlText{content: content, cost: cost, starts: lineStarts(content), bangs: hasBang(content), template: template}, nil
}

// documents parses text and calls do with each document that is not empty.
func (x *exec) documents(t *yamlText, do func(*yaml.Node) error) error {
	if marks := x.marks(t); marks != nil {
		return x.uncommented(t, marks, do)
	}
	return x.load(t, do)
}

func (x *exec) load(t *yamlText, do func(*yaml.Node) error) error {
	if at := directive(t.content); at >= 0 {
		return &syntaxError{at, "YAML directives are not supported; remove the line that begins with %"}
	}
	source := &reading{Reader: *strings.NewReader(t.content), x: x}
	loader, err := yaml.NewLoader(source, yaml.WithV4Defaults())
	if err != nil {
		return err
	}
	for {
		var n yaml.Node
		err := loader.Load(&n)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case source.failed != nil:
			return source.failed
		case err != nil:
			return t.explain(err, x.Marker)
		}
		root := &n
		if n.Kind == yaml.DocumentNode {
			root = n.Content[0]
		}
		if isNothing(root) {
			continue
		}
		if err := do(root); err != nil {
			return err
		}
	}
}

// What parsing YAML costs, in units of work. These were found by parsing random text, and hold for the worst of it:
// see TestParsingIsPaidFor.
const (
	costParser    = 24_000 // a parser, with its buffers
	costByte      = 6
	costWord      = 20   // white space, behind which a word may begin
	costLine      = 80   // a line end
	costKey       = 200  // the : behind a key, or the - before an item
	costIndicator = 560  // another one of : ? and -, behind which others may follow on the same line
	costInFlow    = 800  // one of these once there was a bracket or a brace
	costComma     = 1000 // within brackets and braces, of which the parser may keep all tokens until the last
	costBracket   = 1400
	costClosing   = 320
	costQuote     = 300
	costProperty  = 380 // an alias, an anchor or a tag
	costComment   = 700
)

// parsingCost returns what parsing text costs, in time and memory. What the parser allocates
// depends on the number of tokens, and there cannot be more of them than of the characters that begin one.
func parsingCost(content string) int {
	cost, flow := costParser+costByte*len(content), false
	for i := range len(content) {
		switch c := content[i]; c {
		case ' ', '\t':
			cost += costWord
		case '\n', '\r':
			if cost += costLine; strings.HasPrefix(content[i+1:], "---\n") { // nothing goes on in the next document
				flow = false
			}
		case ':', '?', '-':
			cost += indicatorCost(content, i, flow)
		case ',':
			cost += costComma
		case '[', '{':
			cost += costBracket
			flow = true
		case ']', '}':
			cost += costClosing
		case '\'', '"':
			if begins(content, i) {
				cost += costQuote
			}
		case '*', '&', '!':
			if begins(content, i) {
				cost += costProperty
			}
		case '#':
			if begins(content, i) {
				cost += costComment
			}
		case 0x85, 0xa8, 0xa9:
			if endsLine(content[:i+1]) {
				cost += costLine
			}
		}
	}
	return cost
}

// indicatorCost returns what the : ? or - at a position costs.
func indicatorCost(content string, i int, flow bool) int {
	switch {
	case !indicates(content, i):
		return 0
	case flow:
		return costInFlow
	case simple(content, i):
		return costKey
	}
	return costIndicator
}

// indicates reports whether the : ? or - at a position may be more than a part of a word.
func indicates(content string, i int) bool {
	if i+1 == len(content) || isGap(content[i+1]) {
		return true
	}
	return content[i] == ':' && (strings.IndexByte(",[]{}", content[i+1]) >= 0 ||
		i == 0 || isGap(content[i-1]) || strings.IndexByte(`'"]}`, content[i-1]) >= 0)
}

// simple reports whether the : at a position stands right behind a key, or the - is the first character of
// its line or is behind a few spaces.
func simple(content string, i int) bool {
	switch content[i] {
	case ':':
		return i > 0 && !isGap(content[i-1])
	case '-':
		const longest = 40
		for n := i - 1; n >= 0 && i-n < longest; n-- {
			if content[n] != ' ' {
				return content[n] == '\n'
			}
		}
	}
	return false
}

// begins reports whether a token may begin at a position.
func begins(content string, i int) bool {
	return i == 0 || isGap(content[i-1]) || strings.IndexByte(`'"[]{},`, content[i-1]) >= 0
}

// isGap reports whether a byte may belong to white space or to a line end.
func isGap(c byte) bool { return c <= ' ' || c >= 0x80 }

// directive returns the offset of a line that begins with %, or -1.
func directive(content string) int {
	if strings.HasPrefix(content, "%") {
		return 0
	}
	if i := strings.Index(content, "\n%"); i >= 0 {
		return i + 1
	}
	return -1
}

// isNothing reports whether a node has no text at all, as the value of "a:".
func isNothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" && n.Anchor == ""
}

// explain makes a syntaxError of what the YAML library says. Its words are
// taken over where they cannot hold anything but the author's own text.
func (t *yamlText) explain(err error, marker string) error {
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &syntaxError{-1, "the text is not valid YAML"}
	}
	message := load.Message
	switch load.Stage {
	case "scanner", "parser", "composer":
	default:
		message = "a character or a tag is not allowed"
	}
	at := t.offset(load.Mark.Line, load.Mark.Column)
	if strings.Contains(message, marker) || at >= 0 && strings.HasPrefix(t.content[at:], marker) {
		message = "a value cannot stand here; it may be a scalar or a part of one"
	}
	return &syntaxError{at, "YAML: " + message}
}

// offset returns where in the content a line and column are, both 1-based and
// the column in characters, or -1 if they are nowhere.
func (t *yamlText) offset(line, column int) int {
	if line < 1 || line > len(t.starts) {
		return -1
	}
	at := t.starts[line-1]
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(t.content[at:])
		at += size
	}
	return at
}

// lineStarts returns the offsets of lines. To the YAML library, a line ends
// with \n, \r, \r\n, NEL, LS or PS.
func lineStarts(s string) []int {
	starts := make([]int, 1, strings.Count(s, "\n")+2)
	for i := range len(s) {
		switch s[i] {
		case '\n':
			starts = append(starts, i+1)
		case '\r':
			if !strings.HasPrefix(s[i+1:], "\n") {
				starts = append(starts, i+1)
			}
		case 0x85, 0xa8, 0xa9:
			if endsLine(s[:i+1]) {
				starts = append(starts, i+1)
			}
		}
	}
	return starts
}

// endsLine reports whether s ends with one of the line ends beyond ASCII.
func endsLine(s string) bool {
	return strings.HasSuffix(s, "\u0085") || strings.HasSuffix(s, "\u2028") || strings.HasSuffix(s, "\u2029")
}

// chomping is what a block scalar's header says about its last line ends.
type chomping byte

const (
	clip  chomping = ' '
	strip chomping = '-'
	keep  chomping = '+'
)

// chomping finds the header of a block scalar, which stands after the
// scalar's anchor and tag, if it has them. It is looked for again for each
// alias of the scalar.
func (x *exec) chomping(t *yamlText, n *yaml.Node) (chomping, error) {
	if err := x.Charge(8 * n.Column); err != nil {
		return clip, err
	}
	at := t.offset(n.Line, n.Column)
	for at >= 0 && at < len(t.content) {
		rest := t.content[at:]
		switch rest[0] {
		case '&', '!':
			skipped := len(rest) - len(strings.TrimLeft(rest[wordEnd(rest):], " \t\r\n"))
			if err := x.Charge(skipped); err != nil {
				return clip, err
			}
			at += skipped
			continue
		case '|', '>':
			return chompingOf(rest[1:]), nil
		}
		break
	}
	return clip, errors.New("internal: the header of a block scalar was not found")
}

// chompingOf reads the indicators after | or >.
func chompingOf(header string) chomping {
	for i := range len(header) {
		switch c := header[i]; {
		case c == '-':
			return strip
		case c == '+':
			return keep
		case c < '1' || c > '9':
			return clip
		}
	}
	return clip
}

func wordEnd(s string) int {
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		return i
	}
	return len(s)
}

// chomp applies a block scalar's chomping to its text. Text without a line end
// gets none: it ends where the document does.
func (c chomping) chomp(s string) string {
	if c == keep {
		return s
	}
	trimmed := strings.TrimRight(s, "\n")
	if c == strip || trimmed == "" || len(trimmed) == len(s) {
		return trimmed
	}
	return trimmed + "\n"
}
