package document

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// level says where in an object a map is, as far as reserved keys go.
type level uint8

const (
	elsewhere level = iota
	atRoot
	atMetadata
)

// missing stands for a value that is not there yet: what would hold it is left out.
type missing struct{}

// costMap is for a map that is not empty.
const costMap = 128

// converter makes JSON data of YAML nodes and restores tokens on the way.
type converter struct {
	x    *token.Table
	from *yamlText // what the nodes were parsed from
	// object tells whether the result is a child, in which keys are reserved.
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

// value converts a node and all below it.
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
		return nil, c.fail(n, "this is not supported YAML")
	}
}

// properties checks a node's anchor and tag. Tags make types depend on text,
// so the only one is !!str, besides those that say what is plain to see.
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

// tagged reports whether the author wrote a tag. The library hides the tag
// "!", but not from the text.
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

// left reports whether the author left out a value, tag and all.
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
			return nil, c.fail(item, "an item of a list is empty; write null, or leave out its dash")
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

// mapping converts a map. A key whose value is empty is dropped. Keys that
// are merged in by << never replace the map's own.
func (c *converter) mapping(n *yaml.Node, at level, depth int) (any, error) {
	// A key costs even when it is dropped, and again for each alias.
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

// pairs are the pairs of a map that have been converted.
type pairs struct {
	m       map[string]any
	dropped map[string]bool // keys whose values are empty
}

// pair converts a key and its value.
func (c *converter) pair(p *pairs, key, value *yaml.Node, at level, depth int) error {
	if c.lacks(key) {
		return nil
	}
	name, err := c.key(key, at)
	if err != nil {
		return err
	}
	if _, twice := p.m[name]; twice || p.dropped[name] {
		return c.duplicate(key, name)
	}
	switch left, err := c.left(value); {
	case err != nil:
		return err
	case left:
		if p.dropped == nil {
			p.dropped = map[string]bool{}
		}
		p.dropped[name] = true
		return nil
	}
	v, err := c.entry(value, name, at, depth)
	if err != nil {
		return c.inside(err, key, name)
	}
	if v != (missing{}) {
		p.m[name] = v
	}
	return nil
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

// literal refuses tokens in a value.
func (c *converter) literal(n *yaml.Node, name string) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode || c.x.Has(n.Value) {
		return c.fail(n, "%s must stand in the template as it is, so that rights are known beforehand; use if to choose between several", name)
	}
	return nil
}

func isMerge(key *yaml.Node) bool {
	return key.Value == "<<" && key.Style == 0
}

// merge adds the entries of a map, or of a list of maps, that m lacks.
func (c *converter) merge(m map[string]any, n *yaml.Node, at level, depth int) error {
	if depth > budget.MaxDepth {
		return budget.ErrDeep
	}
	// Aliases multiply here as they do in values.
	if err := c.x.Node(); err != nil {
		return err
	}
	if n.Kind == yaml.AliasNode {
		return c.merge(m, n.Alias, at, depth+1)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if err := c.merge(m, item, at, depth+1); err != nil {
				return err
			}
		}
		return nil
	case yaml.MappingNode:
		v, err := c.value(n, at, depth+1)
		if err != nil {
			return err
		}
		for key, value := range v.(map[string]any) {
			if _, own := m[key]; !own {
				m[key] = value
			}
		}
		return nil
	default:
		return c.fail(n, "<< needs a map or a list of maps")
	}
}

// lacks reports whether a scalar holds a value that is missing.
func (c *converter) lacks(n *yaml.Node) bool {
	return c.from.template && n.Kind == yaml.ScalarNode && c.x.Lacks(n.Value)
}

// duplicate reports a key that is there twice, by its name if the author
// wrote it and not if it came from data.
func (c *converter) duplicate(key *yaml.Node, name string) error {
	if c.fromData(key) {
		return c.fail(key, keyTwice)
	}
	return c.fail(key, "key %q is there already", name)
}

const keyTwice = "a key that comes from a value already exists"

// inside adds to an error about such a key which map it is in. Keys that came from data are left out.
func (c *converter) inside(err error, key *yaml.Node, name string) error {
	e, is := errors.AsType[*Error](err)
	if !is || e.path == "" && e.Message != keyTwice {
		return err
	}
	if c.fromData(key) {
		name = "…"
	}
	e.path = "." + name + e.path
	e.Message = keyTwice + " in " + e.path
	return e
}

// fromData reports whether a key, or some of it, was not written by the
// author.
func (c *converter) fromData(key *yaml.Node) bool {
	return !c.from.template || c.x.Has(key.Value)
}

// key returns the text of a key.
func (c *converter) key(n *yaml.Node, at level) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", c.fail(n, "a key must be text; if a value in braces was meant, put it in quotes")
	}
	if err := c.properties(n); err != nil {
		return "", err
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return "", c.fail(n, "a key cannot have a tag")
	}
	if isNothing(n) {
		return "", c.fail(n, "a key is empty")
	}
	if !c.fromData(n) {
		return n.Value, nil
	}
	name, err := n.Value, error(nil)
	if c.from.template {
		name, err = c.text(n)
	} else {
		err = c.x.Keep(len(name))
	}
	if err != nil {
		return "", c.wrap(n, err)
	}
	if c.object {
		return name, c.reserved(n, name, at)
	}
	return name, nil
}

// scalar returns the value of a scalar.
func (c *converter) scalar(n *yaml.Node) (any, error) {
	if !c.from.template || !c.x.Has(n.Value) {
		if err := c.x.Keep(len(n.Value)); err != nil {
			return nil, err
		}
		if n.Style&^yaml.FlowStyle != 0 {
			return n.Value, nil
		}
		return resolve(n.Value)
	}
	if c.lacks(n) {
		return missing{}, nil
	}
	if tok := c.x.Whole(n.Value); tok != nil && n.Style == 0 && (tok.Mode == token.AsIs || tok.Mode == token.YAMLScalar) {
		return c.restore(tok)
	}
	return c.text(n)
}

// restore returns the value of a token that is a scalar by itself.
func (c *converter) restore(tok *token.Token) (any, error) {
	s, _ := tok.Value.(string)
	if !utf8.ValidString(s) {
		return nil, token.ErrEncoding
	}
	return tok.Value, c.x.Keep(len(s))
}

// text returns the characters of a scalar that has tokens in it.
func (c *converter) text(n *yaml.Node) (string, error) {
	if tok := c.x.Whole(n.Value); tok != nil && standsForItself(tok.Mode, n.Style) {
		v, err := c.restore(tok)
		return token.ScalarText(v), err
	}
	block := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	s, err := c.x.Fill(n.Value, block)
	if err != nil {
		return "", err
	}
	if block {
		how, err := chompingIn(c.x, c.from, n)
		if err != nil {
			return "", err
		}
		s = how.chomp(s)
	}
	return s, c.x.Keep(len(s))
}

// standsForItself reports whether a token that fills a scalar of this style
// yields the characters of its value: the quotes, if any, are those that its
// encoding is made for.
func standsForItself(m token.Mode, style yaml.Style) bool {
	switch m {
	case token.AsIs, token.YAMLScalar, token.Verbatim:
	case token.DoubleQuoted:
		return style&yaml.DoubleQuotedStyle != 0
	case token.SingleQuoted:
		return style&yaml.SingleQuotedStyle != 0
	}
	return style == 0
}

// reserved refuses keys from data that would change what an object is or
// whose it is.
func (c *converter) reserved(n *yaml.Node, name string, at level) error {
	if domain, _, ok := strings.Cut(name, "/"); ok && (domain == ownDomain || strings.HasSuffix(domain, "."+ownDomain)) {
		return c.fail(n, "a key that comes from a value is of templater.dev/, which is reserved; leave it out with omit")
	}
	switch {
	case at != elsewhere && reservedKeys[name]:
		return c.fail(n, "a key that comes from a value is %s, which is reserved here; write it in the template", name)
	case at == atMetadata && !freeMetadata[name]:
		return c.fail(n, "a key of metadata that comes from a value is neither labels nor annotations; write it in the template")
	}
	return nil
}

const ownDomain = "templater.dev"

// reservedKeys may not come from data at the root of an object and in its
// metadata.
var reservedKeys = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true, "status": true,
	"name": true, "generateName": true, "namespace": true,
	"uid": true, "resourceVersion": true, "generation": true, "selfLink": true,
	"creationTimestamp": true, "deletionTimestamp": true, "deletionGracePeriodSeconds": true,
	"ownerReferences": true, "finalizers": true, "managedFields": true,
}

// freeMetadata are the only fields of metadata that data may supply: all others tell what an
// object is, whose it is, and whether it stays.
var freeMetadata = map[string]bool{"labels": true, "annotations": true}
