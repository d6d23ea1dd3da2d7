package outline

import (
	"bytes"
	"io"

	"go.yaml.in/yaml/v4"
)

// maxMarks limits the marks in the YAML of all templates, once for skeletons and once for faults: parsed YAML takes up
// to 800 bytes of memory per mark, and a few per byte.
const maxMarks = 30_000

// marks are characters: each YAML scalar, map, list or comment needs at least one of them.
var marks = [256]bool{'-': true, '?': true, ':': true, ',': true, '[': true, '{': true, '#': true}

// spend adds the marks of a text, and reports whether the sum is within the limit. Otherwise, it adds none.
func spend(read *int, text []byte) bool {
	n := *read
	for _, c := range text {
		if marks[c] {
			n++
		}
	}
	if n > maxMarks {
		return false
	}
	*read = n
	return true
}

// pause is called regularly; an error stops the work. nil = no pauses.
type pause func() error

// ended reports whether pause returned an error.
func (p pause) ended() bool { return p != nil && p() != nil }

// loader returns a YAML loader that fails once pause returns an error.
func (p pause) loader(from io.Reader) (*yaml.Loader, error) {
	return yaml.NewLoader(pausing{p, from}, yaml.WithV4Defaults())
}

// document parses the first document of a text, or returns nil if it is invalid.
func (p pause) document(text []byte) *yaml.Node {
	var root yaml.Node
	loader, err := p.loader(bytes.NewReader(text))
	if err != nil || loader.Load(&root) != nil || len(root.Content) != 1 {
		return nil
	}
	return root.Content[0]
}

// pausing is a reader that calls pause before each read.
type pausing struct {
	pause pause
	from  io.Reader
}

// Read reads some text. The loader reads in small parts.
func (r pausing) Read(to []byte) (int, error) {
	if r.pause != nil {
		if err := r.pause(); err != nil {
			return 0, err
		}
	}
	return r.from.Read(to)
}
