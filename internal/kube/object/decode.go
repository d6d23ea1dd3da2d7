package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unique"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode parses an Object from JSON, and keeps a copy of the text. Invalid UTF-8 and unpaired surrogates are replaced by U+FFFD.
// It returns an error if the text is not a JSON object. Errors do not quote the text.
func Decode(text []byte) (*Object, error) {
	o, err := decodeStrictly(text)
	if err == nil {
		return o, nil
	}
	if repaired := repair(text); !bytes.Equal(repaired, text) {
		if o, err = decodeStrictly(repaired); err == nil {
			return o, nil
		}
	}
	return nil, fmt.Errorf("decode an object: %w", withoutText(err))
}

// decodeStrictly is Decode for valid UTF-8 without unpaired surrogates.
func decodeStrictly(text []byte) (*Object, error) {
	s := scanner{text: text, o: &Object{}}
	s.decoder = newDecoder(text)
	defer freeDecoder(s.decoder)
	if err := s.object(); err != nil {
		return nil, err
	}
	return s.finish(), nil
}

// withoutText returns an error with the position of the JSON syntax error, but without a quote from the text.
func withoutText(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Errorf("the text is not JSON after byte %d", syntax.ByteOffset)
	}
	return err
}

// scanner scans the text of one object once.
type scanner struct {
	text    []byte
	decoder *decoder
	o       *Object
	managed span // the value of managedFields
	cut     span // the part to omit: managedFields with its key and comma

	namespace, name, deletion, generation span
}

func (s *scanner) object() error {
	err := s.decoder.members(func(name []byte) error {
		if string(name) == `"metadata"` && s.decoder.PeekKind() == '{' {
			return s.metadata()
		}
		return s.decoder.SkipValue()
	})
	if err != nil {
		return err
	}
	if _, err := s.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the object")
	}
	return nil
}

func (s *scanner) metadata() error {
	before := uint32(0) // end of the previous member
	return s.decoder.members(func(name []byte) error {
		from := s.decoder.offset() - uint32(len(name)) //nolint:gosec // as in offset
		if s.o.metadata == 0 {
			s.o.metadata, before = from, from
		}
		target := s.target(name)
		at, err := s.decoder.value()
		if target != nil {
			*target = at
		}
		if target == &s.managed {
			s.cut = span{before, at.to}
		}
		before = at.to
		return err
	})
}

// target returns where to store the span of a member of metadata, or nil.
func (s *scanner) target(name []byte) *span {
	switch string(name) {
	case `"namespace"`:
		return &s.namespace
	case `"name"`:
		return &s.name
	case `"uid"`:
		return &s.o.uid
	case `"resourceVersion"`:
		return &s.o.version
	case `"generation"`:
		return &s.generation
	case `"deletionTimestamp"`:
		return &s.deletion
	case `"labels"`:
		return &s.o.labels
	case `"annotations"`:
		return &s.o.annotations
	case `"ownerReferences"`:
		return &s.o.owners
	case `"managedFields"`:
		return &s.managed
	}
	return nil
}

// finish creates the Object from the scanned spans.
func (s *scanner) finish() *Object {
	o := s.o
	o.namespace = unique.Make(s.unquoted(s.namespace))
	o.name = s.unquoted(s.name)
	o.generation, _ = strconv.ParseInt(string(s.text[s.generation.from:s.generation.to]), 10, 64)
	if s.deletion.to > s.deletion.from && s.text[s.deletion.from] == '"' {
		o.Note(deleting)
	}
	s.copyData()
	for _, mapping := range []*span{&o.labels, &o.annotations, &o.owners} {
		*mapping = s.moved(*mapping)
	}
	o.uid, o.version = s.moved(inner(o.uid)), s.moved(inner(o.version))
	if s.managed.to > s.managed.from {
		o.takeOwnership(s.text[s.managed.from:s.managed.to])
	}
	return o
}

// copyData copies the text without managedFields.
func (s *scanner) copyData() {
	s.text = bytes.TrimRight(s.text, "\n")
	if s.cut.to > s.cut.from && s.cut.from == s.o.metadata { // it came first: omit the comma after it
		behind := bytes.TrimLeft(s.text[s.cut.to:], " \t\r\n")
		if len(behind) > 0 && behind[0] == ',' {
			s.cut.to = uint32(len(s.text) - len(behind) + 1) //nolint:gosec // as in offset
		}
	}
	var b strings.Builder
	b.Grow(len(s.text) - int(s.cut.to-s.cut.from))
	b.Write(s.text[:s.cut.from])
	b.Write(s.text[s.cut.to:])
	s.o.data = b.String()
}

// moved returns the span in data for a span of the text.
func (s *scanner) moved(at span) span {
	if at.from >= s.cut.to {
		gone := s.cut.to - s.cut.from
		return span{at.from - gone, at.to - gone}
	}
	return at
}

// inner returns the span of a string without its quotes.
func inner(at span) span {
	if at.to-at.from < 2 {
		return span{}
	}
	return span{at.from + 1, at.to - 1}
}

// unquoted returns a copy of the string at a span.
func (s *scanner) unquoted(at span) string {
	raw := s.text[at.from:at.to]
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	out, _ := jsontext.AppendUnquote(nil, raw) // the decoder has accepted it
	return string(out)
}

// decoder is a reusable jsontext.Decoder over bytes.
type decoder struct {
	*jsontext.Decoder
	buffer bytes.Buffer
	lines  []byte // scratch buffer of takeOwnership
}

var decoders = sync.Pool{New: func() any { return &decoder{Decoder: jsontext.NewDecoder(&bytes.Buffer{})} }}

var options = jsontext.AllowDuplicateNames(true) // the server never sends duplicates, so skip the check

func newDecoder(text []byte) *decoder {
	d, _ := decoders.Get().(*decoder)
	d.buffer = *bytes.NewBuffer(text)
	d.Reset(&d.buffer, options)
	return d
}

func freeDecoder(d *decoder) {
	d.buffer = bytes.Buffer{}
	decoders.Put(d)
}

func (d *decoder) offset() uint32 { return uint32(d.InputOffset()) } //nolint:gosec // texts are far shorter than 4 GiB

// value reads a value and returns its span in the text.
func (d *decoder) value() (span, error) {
	value, err := d.ReadValue()
	to := d.offset()
	return span{to - uint32(len(value)), to}, err //nolint:gosec // as in offset
}

var errNoObject = errors.New("the text is not a JSON object")

// members reads an object, and calls f with the name of each member, including quotes. f must read the member's value, and must
// not retain the name.
func (d *decoder) members(f func(name []byte) error) error {
	if kind := d.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return errNoObject
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := f(name); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// The most that Content allocates, measured with the worst inputs; see TestContentMemoryIsWithinEstimate.
const (
	objectBytes = 300 // per object that is not empty
	memberBytes = 40  // per member, in addition to its comma
	itemBytes   = 70  // per list and per item
)

// Len returns the size of the object as JSON in bytes, without managedFields.
func (o *Object) Len() int { return len(o.data) }

// ContentBytes returns an upper limit of the memory that Content allocates, in bytes. It scans the text without allocating.
func (o *Object) ContentBytes() int { return bytesOf(o.data) }

// BytesAt returns an upper limit of the memory that At allocates, in bytes.
func (o *Object) BytesAt(path ...string) int { return bytesOf(o.JSON(path...)) }

func bytesOf(text string) int {
	const least = 1024
	n := least + itemBytes*strings.Count(text, "[") + objectBytes*strings.Count(text, "{") + itemBytes*strings.Count(text, ",") + memberBytes*strings.Count(text, ":")
	if strings.Contains(text, `\`) { // strings with escapes are copied
		n += 2 * len(text)
	}
	return n
}
