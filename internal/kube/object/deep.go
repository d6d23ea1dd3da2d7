package object

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The API server accepts objects with as many nested levels as jsontext: 10,000. A list or a watch event adds a level or two, so
// jsontext rejects it, and a single object would break the watch of all objects of its kind. So the functions in this file split
// a list or event that jsontext rejects, by parsing only strings and brackets. Then each object is decoded separately.

// maxSafeDepth is the depth from which a list or an event may be too deep for jsontext.
const maxSafeDepth = 9_990

// nesting tracks the brackets of JSON text. The zero value is in front of a value.
type nesting struct {
	depth, deepest    int
	inString, escaped bool
}

// end returns the index after the end of the value, which must be an object or a list, or -1 if the value does not end in text.
func (n *nesting) end(text []byte) int {
	for i, c := range text {
		switch {
		case n.escaped:
			n.escaped = false
		case n.inString:
			n.escaped, n.inString = c == '\\', c != '"'
		case c == '"':
			n.inString = true
		case c == '{' || c == '[':
			n.depth++
			n.deepest = max(n.deepest, n.depth)
		case c == '}' || c == ']':
			if n.depth--; n.depth <= 0 {
				return i + 1
			}
		}
	}
	return -1
}

var errDeepList = errors.New("the text is not a list")

// decodeDeepList is Decode for a list that is too deep because of its items. It returns the list without items, and the text of
// its items.
func decodeDeepList(text []byte) (*Object, string, error) {
	r := reader{s: string(text)}
	if !r.find("items") || r.next() != '[' {
		return nil, "", errDeepList
	}
	from := r.at
	r.skip()
	o, err := Decode(slices.Concat(text[:from], []byte("[]"), text[r.at:]))
	return o, r.s[from:r.at], err
}

// deepFrame reads a watch event that jsontext has rejected because it is too deep. It replaces the decoder for the events that
// follow. If the event is not too deep, it returns refused, the error of jsontext.
func (f *frames) deepFrame(refused error) ([]byte, error) {
	text := bytes.Clone(f.decoder.UnreadBuffer())
	var n nesting
	end := n.end(text)
	if n.deepest < maxSafeDepth || !strings.HasPrefix(string(bytes.TrimLeft(text, " \t\r\n")[:1]), "{") {
		return nil, refused
	}
	part := make([]byte, 64<<10)
	for end < 0 {
		read, err := f.from.Read(part)
		if at := n.end(part[:read]); at >= 0 {
			end = len(text) + at
		}
		text = append(text, part[:read]...)
		if end < 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	f.from = io.MultiReader(bytes.NewReader(text[end:]), f.from)
	f.decoder = newFrameDecoder(f.from)
	return text[:end], nil
}

func newFrameDecoder(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, options, jsontext.AllowInvalidUTF8(true)) // Decode checks it
}
