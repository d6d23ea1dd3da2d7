// Package document parses the YAML output of templates into objects, replaces tokens with their values, and explains YAML errors.
package document

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/token"
)

// yamlText is text to parse as YAML. It is immutable.
type yamlText struct {
	content  string
	cost     int   // of parsing, in units of work
	starts   []int // offsets of lines, see lineStarts
	bangs    bool  // whether content may have the tag "!"
	template bool  // whether it is template output, with tokens, rather than plain data
}

// hasBang reports whether content may have the tag "!".
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

// Error is an error at an offset in a text.
type Error struct {
	Offset  int // -1 if unknown
	Message string
	// Hint explains what Message usually means; "" if Message is clear.
	Hint string
	path string // of the map with a duplicate key, for errors about that
}

// Error returns the hint and the message.
func (e *Error) Error() string { return Fault{What: e.Message, Hint: e.Hint}.String() }

// CommentError reports that a mark is in a comment.
type CommentError struct{ Mark int }

// Error is not meant for users: the creator of the mark reports its own error.
func (e *CommentError) Error() string { return "a mark is in a comment" }

// read charges for parsing content, in advance. The same content always costs the same.
func read(x *token.Table, content string, template bool) (*yamlText, error) {
	cost := parsingCost(content)
	if err := x.Charge(cost); err != nil {
		return nil, err
	}
	return &yamlText{content: content, cost: cost, starts: lineStarts(content), bangs: hasBang(content), template: template}, nil
}

// Read parses content and calls do with each document that is not empty. If template is set, content is template output
// with tokens, else plain data, in which nothing is a token.
func Read(x *token.Table, content string, template bool, do func(Document) error) error {
	text, err := read(x, content, template)
	if err != nil {
		return err
	}
	c := &converter{x: x, from: text}
	return documents(x, text, func(n *yaml.Node) error { return do(Document{c, n}) })
}

// Document is one YAML document of a text.
type Document struct {
	c    *converter
	node *yaml.Node
}

// Object returns the document as a normalized object. It rejects keys from data that would change the object's identity or
// owner.
func (d Document) Object() (map[string]any, error) { return d.c.child(d.node) }

// Value returns the document as plain JSON data.
func (d Document) Value() (any, error) {
	v, err := d.c.value(d.node, elsewhere, 0)
	if v == (missing{}) {
		return map[string]any{}, err
	}
	return v, err
}

// Offset returns where the document begins in its text, or -1 if unknown.
func (d Document) Offset() int { return d.c.from.offset(d.node.Line, d.node.Column) }

// Errorf returns an [Error] that points at the document.
func (d Document) Errorf(format string, args ...any) error { return d.c.fail(d.node, format, args...) }

// documents parses text and calls do with each document that is not empty.
func documents(x *token.Table, t *yamlText, do func(*yaml.Node) error) error {
	if marks := marks(x, t); marks != nil {
		return uncommented(x, t, marks, do)
	}
	return load(x, t, do)
}

func load(x *token.Table, t *yamlText, do func(*yaml.Node) error) error {
	if at := directive(t.content); at >= 0 {
		return &Error{Offset: at, Message: "YAML directives are not supported; remove the line that begins with %"}
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

// reading is a reader that pauses before each chunk that the parser reads, which is half a KiB.
type reading struct {
	strings.Reader
	x      *token.Table
	failed error // error of the last pause
}

// Read reads the next chunk.
func (r *reading) Read(p []byte) (int, error) {
	if r.failed = r.x.Pause(); r.failed != nil {
		return 0, r.failed
	}
	return r.Reader.Read(p)
}

// isGap reports whether a byte may be part of white space or of a line end.
func isGap(c byte) bool { return c <= ' ' || c >= 0x80 }

// directive returns the offset of the first line that begins with %, or -1.
func directive(content string) int {
	if strings.HasPrefix(content, "%") {
		return 0
	}
	if i := strings.Index(content, "\n%"); i >= 0 {
		return i + 1
	}
	return -1
}

// isNothing reports whether a node has no text at all, like the value of "a:".
func isNothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" && n.Anchor == ""
}

// explain converts an error of the YAML library to an [Error]. It keeps the
// library's message if that can only contain the author's own text.
func (t *yamlText) explain(err error, marker string) error {
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &Error{Offset: -1, Message: "the text is not valid YAML"}
	}
	at := t.offset(load.Mark.Line, load.Mark.Column)
	switch load.Stage {
	case "scanner", "parser", "composer":
	default:
		return &Error{Offset: at, Message: "YAML: a character or a tag is not allowed"}
	}
	if strings.Contains(load.Message, marker) || at >= 0 && strings.HasPrefix(t.content[at:], marker) {
		fault := &Error{Offset: at, Message: "YAML: a value is not allowed here; print it as a scalar or part of a scalar"}
		if t.quotesInQuotes(at) {
			fault.Hint = QuotesInQuotes
		}
		return fault
	}
	fault := Explain(load, Lines{Line: t.line, Name: func(n int) string { return t.name(n, marker) }})
	return &Error{Offset: t.offset(fault.Line, fault.Column), Message: "YAML: " + fault.What, Hint: fault.Hint}
}

// quotesInQuotes reports whether double quotes that begin on the same line end right before an offset.
func (t *yamlText) quotesInQuotes(at int) bool {
	if at < 0 {
		return false
	}
	before := t.content[strings.LastIndexByte(t.content[:at], '\n')+1 : at]
	return strings.HasSuffix(before, `"`) && strings.Count(before, `"`)%2 == 0
}

// line returns line n without its line end, counted from 1, or "" if there is none.
func (t *yamlText) line(n int) string {
	if n < 1 || n > len(t.starts) {
		return ""
	}
	end := len(t.content)
	if n < len(t.starts) {
		end = t.starts[n]
	}
	return strings.TrimRight(t.content[t.starts[n-1]:end], "\r\n\u0085\u2028\u2029")
}

// name returns how to refer to line n: by its own text, if the author wrote that.
func (t *yamlText) name(n int, marker string) string {
	if words := QuoteLine(t.line(n)); t.template && !strings.Contains(words, marker) {
		return words
	}
	return "a line above"
}

// offset returns the offset of a line and column, both 1-based and the column
// in characters, or -1 if there is no such line.
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

// lineStarts returns the offsets of lines. As in the YAML library, a line ends
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

// endsLine reports whether s ends with a non-ASCII line end.
func endsLine(s string) bool {
	return strings.HasSuffix(s, "\u0085") || strings.HasSuffix(s, "\u2028") || strings.HasSuffix(s, "\u2029")
}

// Places calls f for each field and item of the document, recursively, with its path, such as .spec.containers[0].image, and the
// offset of its value, or of its key if the value has fields or items of its own.
func (d Document) Places(f func(path string, offset int)) { d.c.places(d.node, "", f) }

func (c *converter) places(n *yaml.Node, path string, f func(path string, offset int)) {
	for i, child := range n.Content {
		at, place := path, child
		switch {
		case n.Kind == yaml.SequenceNode:
			at += "[" + strconv.Itoa(i) + "]"
		case n.Kind != yaml.MappingNode || i%2 == 0:
			continue
		default:
			key := n.Content[i-1]
			name := key.Value
			if c.fromData(key) {
				var err error
				if name, err = c.text(key); err != nil {
					continue
				}
			}
			at += "." + name
			if len(child.Content) > 0 {
				place = key
			}
		}
		f(at, c.from.offset(place.Line, place.Column))
		c.places(child, at, f)
	}
}
