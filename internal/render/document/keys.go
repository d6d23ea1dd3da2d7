package document

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
)

// pairs are the converted pairs of a map.
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

func isMerge(key *yaml.Node) bool {
	return key.Value == "<<" && key.Style == 0
}

// merge adds the entries of a map, or of a list of maps, that m lacks.
func (c *converter) merge(m map[string]any, n *yaml.Node, at level, depth int) error {
	if depth > budget.MaxDepth {
		return budget.ErrDeep
	}
	// Aliases multiply here, as they do in values.
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

// lacks reports whether a scalar contains a missing value.
func (c *converter) lacks(n *yaml.Node) bool {
	return c.from.template && n.Kind == yaml.ScalarNode && c.x.Lacks(n.Value)
}

// duplicate reports a duplicate key, with its name only if the author wrote
// it.
func (c *converter) duplicate(key *yaml.Node, name string) error {
	if c.fromData(key) {
		return c.fail(key, keyTwice)
	}
	return c.fail(key, "duplicate key %q", name)
}

const keyTwice = "duplicate key (printed from a value)"

// inside adds the path of the map to an error about a duplicate key from data. It omits keys that came from data.
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

// fromData reports whether any part of a key was not written by the author.
func (c *converter) fromData(key *yaml.Node) bool {
	return !c.from.template || c.x.Has(key.Value)
}

// key returns the text of a key.
func (c *converter) key(n *yaml.Node, at level) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", c.fail(n, "a key must be a string; if this is a value in braces, quote it")
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

// reserved rejects keys from data that would change an object's identity or
// owner.
func (c *converter) reserved(n *yaml.Node, name string, at level) error {
	if domain, _, ok := strings.Cut(name, "/"); ok && (domain == ownDomain || strings.HasSuffix(domain, "."+ownDomain)) {
		return c.fail(n, "a key printed from a value starts with templater.dev/, which is reserved; remove it with omit")
	}
	switch {
	case at != elsewhere && reservedKeys[name]:
		return c.fail(n, "a key printed from a value is %s, which is reserved here; write it in the template", name)
	case at == atMetadata && !freeMetadata[name]:
		return c.fail(n, "keys of metadata must be literal, except labels and annotations: write the key in the template")
	}
	return nil
}

const ownDomain = "templater.dev"

// reservedKeys must not come from data at the root of an object or in its
// metadata.
var reservedKeys = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true, "status": true,
	"name": true, "generateName": true, "namespace": true,
	"uid": true, "resourceVersion": true, "generation": true, "selfLink": true,
	"creationTimestamp": true, "deletionTimestamp": true, "deletionGracePeriodSeconds": true,
	"ownerReferences": true, "finalizers": true, "managedFields": true,
}

// freeMetadata are the only metadata fields that data may supply: all others determine an
// object's identity, owner or lifetime.
var freeMetadata = map[string]bool{"labels": true, "annotations": true}

// NotForTemplates lists metadata fields that only the API server or templater sets, and what to do instead.
var NotForTemplates = []struct{ Field, Advice string }{
	{"generateName", "templater must know the name of each child in advance: set metadata.name"},
	{"ownerReferences", "templater sets the owner reference: remove it; for no owner reference, set deletionPolicy: Orphan"},
	{"uid", "the API server sets it: remove it"},
	{"resourceVersion", "the API server sets it: remove it"},
	{"generation", "the API server sets it: remove it"},
	{"managedFields", "the API server sets it: remove it"},
	{"deletionTimestamp", "the API server sets it: remove it"},
	{"deletionGracePeriodSeconds", "the API server sets it: remove it"},
	{"selfLink", "the API server sets it: remove it"},
}
