package document

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// level is the position of a map in an object, for reserved keys.
type level uint8

const (
	elsewhere level = iota
	atRoot
	atMetadata
)

// missing is a value that does not exist yet: the key or item that would hold it is omitted.
type missing struct{}

// costMap is the cost of a map that is not empty, without its entries.
const costMap = 128

// converter converts YAML nodes to JSON data and restores tokens.
type converter struct {
	x    *token.Table
	from *yamlText // what the nodes were parsed from
	// object is set if the result is a child, in which keys are reserved.
	object bool
}

// fail returns an error that points at a node.
func (c *converter) fail(n *yaml.Node, format string, args ...any) error {
	return c.wrap(n, fmt.Errorf(format, args...))
}

func (c *converter) wrap(n *yaml.Node, err error) error {
	if budget.Ended(err) {
		return err
	}
	return &Error{Offset: c.from.offset(n.Line, n.Column), Message: err.Error()}
}

// value converts a node and its descendants.
func (c *converter) value(n *yaml.Node, at level, depth int) (any, error) {
	if depth > budget.MaxDepth {
		return nil, budget.ErrDeep
	}
	if err := c.x.Node(); err != nil {
		return nil, err
	}
	if err := c.properties(n); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.mapping(n, at, depth)
	case yaml.SequenceNode:
		return c.sequence(n, depth)
	case yaml.AliasNode:
		return c.value(n.Alias, at, depth+1)
	case yaml.ScalarNode:
		v, err := c.scalar(n)
		if err != nil {
			return nil, c.wrap(n, err)
		}
		return v, nil
	default:
		return nil, c.fail(n, "unsupported YAML syntax")
	}
}

// properties checks a node's anchor and tag. Tags make types depend on text, so
// only !!str is allowed, and !!map and !!seq where they are redundant.
func (c *converter) properties(n *yaml.Node) error {
	if c.from.template && (c.x.Has(n.Anchor) || c.x.Has(n.Tag)) {
		return c.fail(n, "a value cannot be part of an anchor or a tag")
	}
	if tagged, err := c.tagged(n); !tagged {
		return err
	}
	switch {
	case n.Style&yaml.TaggedStyle == 0:
	case n.Tag == "!!str" && n.Kind == yaml.ScalarNode,
		n.Tag == "!!map" && n.Kind == yaml.MappingNode,
		n.Tag == "!!seq" && n.Kind == yaml.SequenceNode:
		return nil
	}
	return c.fail(n, "YAML tags other than !!str are not supported; remove the tag")
}

// tagged reports whether the author wrote a tag. The library does not report
// the tag "!", so that is looked up in the text.
func (c *converter) tagged(n *yaml.Node) (bool, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return true, nil
	}
	if n.Kind == yaml.AliasNode || !c.from.bangs {
		return false, nil
	}
	if err := c.x.Charge(8 * n.Column); err != nil {
		return false, err
	}
	at := c.from.offset(n.Line, n.Column)
	return at >= 0 && strings.HasPrefix(c.from.content[at:], "!"), nil
}

// left reports whether the author omitted a value, including a tag.
func (c *converter) left(n *yaml.Node) (bool, error) {
	if !isNothing(n) {
		return false, nil
	}
	tagged, err := c.tagged(n)
	return !tagged, err
}

func (c *converter) sequence(n *yaml.Node, depth int) (any, error) {
	list := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		switch left, err := c.left(item); {
		case err != nil:
			return nil, err
		case left:
			return nil, c.fail(item, "an item of a list is empty; write null, or remove its dash")
		}
		v, err := c.value(item, elsewhere, depth+1)
		if err != nil {
			return nil, err
		}
		if v != (missing{}) {
			list = append(list, v)
		}
	}
	return list, nil
}

// mapping converts a map. A key whose value is empty is dropped. Keys merged
// with << never override the map's own.
func (c *converter) mapping(n *yaml.Node, at level, depth int) (any, error) {
	// Keys are charged even if they are dropped, and again for each alias.
	if err := c.x.Charge(costMap + budget.CostItem*len(n.Content)); err != nil {
		return nil, err
	}
	p := pairs{m: make(map[string]any, len(n.Content)/2)}
	var merged []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			merged = append(merged, value)
			continue
		}
		if err := c.pair(&p, key, value, at, depth); err != nil {
			return nil, err
		}
	}
	for _, value := range merged {
		if err := c.merge(p.m, value, at, depth); err != nil {
			return nil, err
		}
	}
	return p.m, nil
}

// entry converts the value of a key.
func (c *converter) entry(value *yaml.Node, name string, at level, depth int) (any, error) {
	below := elsewhere
	if at == atRoot {
		switch name {
		case "metadata":
			below = atMetadata
		case "apiVersion", "kind":
			if err := c.literal(value, name); err != nil {
				return nil, err
			}
		}
	}
	return c.value(value, below, depth+1)
}

// literal rejects a value that is not a scalar or contains tokens.
func (c *converter) literal(n *yaml.Node, name string) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode || c.x.Has(n.Value) {
		return c.fail(n, "%s must be literal text in the template, so that the required permissions are known in advance; use if to choose between several", name)
	}
	return nil
}
