package document

import (
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Places calls f for the fields of the document, and for those within, with the path, such as .spec.containers[0].image, and with the
// offset in the text where the value begins, or its key where the value has fields of its own.
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
