package typed

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/schema"
)

// shape compares the text of a template with the type of what it yields.
type shape struct {
	c      *checker
	s      *skeleton
	starts []int
	first  int // line of the template where the document begins
	object string
	kind   gvk.GroupVersionKind
	code   finding.Code // of a field that is not there
	status bool         // it is that of the status
}

// texts looks at what the texts of all templates show.
func (c *checker) texts() {
	for _, u := range c.units.Children {
		s := c.skeleton(u)
		for _, d := range s.documents {
			c.document(s, d)
			c.child(s, d)
		}
	}
	c.selects()
	u := c.units.Status
	if u == nil {
		return
	}
	s := c.skeleton(u)
	parent := c.object(c.spec.Watch.APIVersion, c.spec.Watch.Kind, "")
	if parent.of == nil {
		return
	}
	f, there := parent.of.Fields["status"]
	if !there || s.others || len(s.documents) != 1 {
		return
	}
	at := shape{c: c, s: s, starts: s.starts(), first: s.documents[0].first, object: c.spec.Watch.Kind, code: finding.Pruned, status: true}
	at.node(s.documents[0].root, f.Type, ".status")
}

// skeleton returns that of a template, which is made once.
func (c *checker) skeleton(u *syntax.Unit) *skeleton {
	s, made := c.skeletons[u]
	if !made {
		s = skeletonOf(u)
		c.skeletons[u] = s
	}
	return s
}

// child looks at a document of a child's template.
func (c *checker) child(s *skeleton, d yamlDocument) {
	kind, ok := kindIn(d.root)
	if !ok {
		return
	}
	at := shape{c: c, s: s, starts: s.starts(), first: d.first, object: kind.Kind, kind: kind, code: finding.ChildField}
	at.temporary(d.root)
	if c.known == nil {
		return
	}
	t, exists := c.known.Lookup(kind)
	switch {
	case !exists:
		c.warnf(finding.UnknownKind, at.place(entryOf(d.root, "kind")), "there is no kind %s in %s", kind.Kind, kind.GroupVersion())
	case t != nil:
		at.placed(d.root, t)
		at.node(d.root, t, "")
	}
}

// kindIn returns the kind that a document writes out, or false if it writes none or several.
func kindIn(root *yaml.Node) (kind gvk.GroupVersionKind, ok bool) {
	version, name := literalIn(root, "apiVersion"), literalIn(root, "kind")
	gv, err := gvk.ParseGroupVersion(version)
	if err != nil || version == "" || name == "" {
		return kind, false
	}
	return gv.WithKind(name), true
}

// literalIn returns the text under a key of a mapping, or "" if it is not written out, or twice in different ways.
func literalIn(root *yaml.Node, key string) string {
	text := ""
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != key {
			continue
		}
		value := root.Content[i+1]
		if value.Kind != yaml.ScalarNode || printed(value.Value) || text != "" && text != value.Value {
			return ""
		}
		text = value.Value
	}
	return text
}

// entryOf returns the value under a key of a mapping that has it.
func entryOf(root *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == key {
			return root.Content[i+1]
		}
	}
	return root
}

// printed reports whether an action prints a part of a text.
func printed(text string) bool { return strings.ContainsRune(text, blank) }

// place returns where a node stands.
func (at *shape) place(n *yaml.Node) place {
	line, width := at.first+n.Line-1, utf8.RuneCountInString(n.Value)
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		width += 2
	}
	offset := at.s.offset(at.starts, line, n.Column)
	length := at.s.offset(at.starts, line, n.Column+width) - offset
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		length = 1
	}
	return place{text: at.s.text, offset: offset, length: length}
}

// conditionStatus is where templater takes booleans, too, and writes the words for them.
const conditionStatus = ".status.conditions[].status"

// node compares a node with the type that is expected there.
func (at *shape) node(n *yaml.Node, t *schema.Type, path string) {
	if at.status && n.Kind == yaml.ScalarNode && printed(n.Value) {
		at.endless(n, path)
	}
	if t == nil || t.Kinds == 0 || !at.c.step() {
		return
	}
	if at.status && path == conditionStatus {
		wider := *t
		wider.Kinds |= boolean
		t = &wider
	}
	if got := kindsOfNode(n); got != 0 && t.Kinds&got == 0 {
		at.c.warnf(finding.FieldType, at.place(n), "%s of %s is %s, not %s%s", path, at.object, kindWords(t.Kinds&^null), kindWords(got), unquote(n, t))
		return
	}
	at.value(n, t, path)
	switch n.Kind { //nolint:exhaustive // nothing is known of the others
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content) && !at.c.gaveUp; i += 2 {
			at.entry(n.Content[i], n.Content[i+1], t, path)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content { // each is a step
			at.node(item, t.Items, path+"[]")
		}
	case yaml.ScalarNode:
		at.scalar(n, t, path)
	}
}

// unquote says how a value of the right kind is written, if that is how it differs.
func unquote(n *yaml.Node, t *schema.Type) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return ""
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return ": leave out the quotes"
	case t.Kinds&str != 0:
		return ": put quotes around it"
	}
	return ""
}

// entry compares an entry of a mapping.
func (at *shape) entry(key, v *yaml.Node, t *schema.Type, path string) {
	switch f, there := t.Fields[key.Value]; {
	case key.Kind != yaml.ScalarNode || printed(key.Value) || key.Tag == "!!merge":
	case there:
		at.node(v, f.Type, path+"."+key.Value)
	case t.Fields == nil:
		at.node(v, t.Items, path+"."+key.Value)
	case !t.Open:
		at.unknown(key, t, path)
	}
}

func (at *shape) unknown(key *yaml.Node, t *schema.Type, path string) {
	known := sortedKeys(t.Fields)
	nearest := at.c.nearest(key.Value, known)
	hint := ""
	switch {
	case nearest != "":
		hint = "; did you mean " + nearest + "?"
	default:
		if where := within(t, key.Value, maxLevels, &at.c.looks); where != "" {
			hint = "; it is in " + path + where
		}
	}
	consequence := "the server drops it, or refuses the object"
	if at.code == finding.Pruned {
		consequence = "the server drops it: add it to the schema"
	}
	n := at.c.warnf(at.code, at.place(key), "%s has no field %s.%s, so %s%s", at.object, path, key.Value, consequence, hint)
	n.replacement = nearest
}

// scalar compares a text with those that are possible.
func (at *shape) scalar(n *yaml.Node, t *schema.Type, path string) {
	if len(t.Enum) == 0 || n.Value == "" || printed(n.Value) || kindsOfNode(n) != str {
		return
	}
	for _, possible := range t.Enum {
		if possible == n.Value {
			return
		}
	}
	nearest := at.c.nearest(n.Value, append([]string(nil), t.Enum...))
	hint := "it is one of " + strings.Join(t.Enum[:min(len(t.Enum), 12)], ", ")
	if nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	note := at.c.warnf(finding.FieldType, at.place(n), "%s of %s cannot be %q; %s", path, at.object, n.Value, hint)
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		note.replacement = nearest
	}
}

// kindsOfNode returns what a node is, or 0 if that is not known.
func kindsOfNode(n *yaml.Node) schema.Kinds {
	switch {
	case n.Kind == yaml.MappingNode:
		return mapping
	case n.Kind == yaml.SequenceNode:
		return list
	case n.Kind != yaml.ScalarNode:
		return 0
	case printed(n.Value) && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return str
	case printed(n.Value):
		return 0
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return str
	case "!!bool":
		return boolean
	case "!!int":
		return integer
	case "!!float":
		return float
	}
	return 0
}
