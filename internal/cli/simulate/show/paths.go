package show

import (
	"bytes"
	"maps"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// linePaths returns the path of the field that begins on each line of a YAML document, by line number. Other lines, such
// as those of a block scalar, and lines that cannot have a comment, are omitted.
func linePaths(content []byte) (map[int]string, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return nil, err
	}
	paths := map[int]string{}
	if len(root.Content) == 0 {
		return paths, nil
	}
	blocks := map[int]bool{}
	notePaths(root.Content[0], "", paths, blocks)
	commented := maps.Clone(paths)
	for line := range paths {
		// A multi-line flow scalar cannot have a comment.
		if !blocks[line] && paths[line+1] == "" && line < bytes.Count(content, []byte{'\n'}) {
			delete(commented, line)
		}
	}
	return commented, nil
}

func notePaths(n *yaml.Node, path string, paths map[int]string, blocks map[int]bool) {
	for i, child := range n.Content {
		at := path
		switch {
		case n.Kind == yaml.SequenceNode:
			at += "[" + strconv.Itoa(i) + "]"
		case i%2 == 0:
			continue
		default:
			at += "." + n.Content[i-1].Value
		}
		line := child.Line
		if n.Kind == yaml.MappingNode {
			line = n.Content[i-1].Line
		}
		if child.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			blocks[line] = true
		}
		if child.Kind == yaml.ScalarNode || len(child.Content) == 0 || paths[line] == "" {
			paths[line] = at
		}
		notePaths(child, at, paths, blocks)
	}
}
