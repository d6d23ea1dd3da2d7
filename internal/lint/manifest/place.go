package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// place is a value in a document, with its key. A nil place is unknown.
type place struct {
	node, key *yaml.Node // without a key, key is the value
	missing   bool       // the value does not exist: node is the mapping that lacks it
}

// get returns the place of a key of a mapping. If the key does not exist, it returns the mapping, with missing set.
func (p *place) get(key string) *place {
	if p == nil {
		return nil
	}
	n := resolve(p.node)
	if n.Kind == yaml.MappingNode && !p.missing {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return &place{node: n.Content[i+1], key: n.Content[i]}
			}
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if merged := (&place{node: n.Content[i+1], key: n.Content[i]}); n.Content[i].Value == "<<" {
				if at := merged.get(key); !at.missing {
					return at
				}
			}
		}
	}
	return p.without()
}

// item returns the place of a list item.
func (p *place) item(i int) *place {
	if p == nil {
		return nil
	}
	if n := resolve(p.node); n.Kind == yaml.SequenceNode && !p.missing && i >= 0 && i < len(n.Content) {
		return &place{node: n.Content[i], key: n.Content[i]}
	}
	return p.without()
}

// named returns the place of the first list item with that name.
func (p *place) named(name string) *place {
	if p == nil {
		return nil
	}
	if all := p.allNamed(name); len(all) > 0 {
		return all[0]
	}
	return p.without()
}

// allNamed returns the places of all list items with that name.
func (p *place) allNamed(name string) (all []*place) {
	if p == nil || p.missing || resolve(p.node).Kind != yaml.SequenceNode {
		return nil
	}
	for i := range resolve(p.node).Content {
		item := p.item(i)
		if at := item.get("name"); !at.missing && resolve(at.node).Value == name {
			all = append(all, item)
		}
	}
	return all
}

func (p *place) without() *place { return &place{node: p.node, key: p.key, missing: true} }

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// follow resolves a path such as spec.children[pod].scope, spec.values['a.b'][0] or spec.watch. Brackets contain the index of
// an item or its name.
func (p *place) follow(path string) *place {
	for path != "" {
		switch {
		case path[0] == '.':
			path = path[1:]
		case strings.HasPrefix(path, "['"):
			key, rest, _ := strings.Cut(path[2:], "']")
			p, path = p.get(key), rest
		case path[0] == '[':
			name, rest, _ := strings.Cut(path[1:], "]")
			path = rest
			if i, err := strconv.Atoi(name); err == nil {
				p = p.item(i)
			} else {
				p = p.named(name)
			}
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			p, path = p.get(path[:end]), path[end:]
		}
	}
	return p
}
