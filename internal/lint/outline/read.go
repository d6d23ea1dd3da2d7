package outline

import (
	"bytes"
	"io"

	"go.yaml.in/yaml/v4"
)

// maxMarks bounds the marks of what is read as YAML of all templates, once for skeletons and once for faults: what YAML makes of a text takes up
// to 800 bytes of memory for each mark, and a few for each byte.
const maxMarks = 30_000

// marks are the characters that a scalar, a map, a list or a comment of YAML needs at least one of.
var marks = [256]bool{'-': true, '?': true, ':': true, ',': true, '[': true, '{': true, '#': true}

// spend adds the marks of a text to those that are read, and reports whether they are within the bound. Else it adds none.
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

// pause asks whether the work is to go on; an error ends it. nil never does.
type pause func() error

// ended reports whether the work is to end.
func (p pause) ended() bool { return p != nil && p() != nil }

// loader reads documents, and fails where the work is to end.
func (p pause) loader(from io.Reader) (*yaml.Loader, error) {
	return yaml.NewLoader(pausing{p, from}, yaml.WithV4Defaults())
}

// document reads the first document of a text, or returns nil if that is none.
func (p pause) document(text []byte) *yaml.Node {
	var root yaml.Node
	loader, err := p.loader(bytes.NewReader(text))
	if err != nil || loader.Load(&root) != nil || len(root.Content) != 1 {
		return nil
	}
	return root.Content[0]
}

// pausing is a reader that asks before it reads.
type pausing struct {
	pause pause
	from  io.Reader
}

// Read reads some text. The loader asks for it in small parts.
func (r pausing) Read(to []byte) (int, error) {
	if r.pause != nil {
		if err := r.pause(); err != nil {
			return 0, err
		}
	}
	return r.from.Read(to)
}
