package outline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// docCheck compares a document of a template with the schema of its kind.
type docCheck struct {
	docText
	c      *checker
	object string
	kind   gvk.GroupVersionKind
	code   finding.Code // for unknown fields
	status bool         // it is the status template
}

// in returns the docCheck for a document.
func (c *checker) in(s *Skeleton, d Document) *docCheck {
	return &docCheck{docText: docText{s, d.First}, c: c}
}

// texts checks the documents of all templates.
func (c *checker) texts() {
	for _, u := range c.Units.Children {
		s := c.Skeletons.Of(u)
		for _, d := range s.Documents {
			c.document(u, s, d)
			c.in(s, d).keysTwice(d.Root)
			c.child(s, d)
		}
		c.bare(s)
	}
	c.unseparated()
	c.again()
	c.selects()
	u := c.Units.Status
	if u == nil {
		return
	}
	s := c.Skeletons.Of(u)
	c.ownCondition(s)
	parent := c.lookup(c.Spec.Watch.APIVersion, c.Spec.Watch.Kind)
	if parent == nil {
		return
	}
	f, there := parent.Fields["status"]
	if !there || s.Others || len(s.Documents) != 1 {
		return
	}
	at := c.in(s, s.Documents[0])
	at.object, at.code, at.status = c.Spec.Watch.Kind, finding.Pruned, true
	at.node(s.Documents[0].Root, f.Type, ".status")
}

// child checks a document of a child template.
func (c *checker) child(s *Skeleton, d Document) {
	kind, ok := d.Kind()
	if !ok {
		return
	}
	at := c.in(s, d)
	at.object, at.kind, at.code = kind.Kind, kind, finding.ChildField
	at.temporary(d.Root)
	if c.Known == nil {
		return
	}
	t, exists := c.Known.Lookup(kind)
	switch {
	case !exists:
		c.Warn(finding.UnknownKind, at.place(entryOf(d.Root, "kind")), "unknown kind %s in %s%s", kind.Kind, kind.GroupVersion(), c.hint(kind))
	case t != nil:
		at.placed(d.Root, t)
		at.node(d.Root, t, "")
	}
}

// temporary reports a Job with ttlSecondsAfterFinished: once deleted, it would be recreated from its template.
func (at *docCheck) temporary(root *yaml.Node) {
	if at.kind.Group != "batch" || at.kind.Kind != "Job" || strings.Contains(at.s.Text.Content, ".status") {
		return
	}
	spec := entryOf(root, "spec")
	if spec.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(spec.Content); i += 2 {
		if key := spec.Content[i]; key.Value == "ttlSecondsAfterFinished" {
			at.c.Warn(finding.TemporaryJob, at.place(key), "the cluster deletes the Job after this time, and templater recreates it, so it runs again: remove ttlSecondsAfterFinished; the Job is deleted with its parent, or when the template no longer renders it")
		}
	}
}

// entryOf returns the value of a key of a mapping, or the mapping itself if it has no such key.
func entryOf(root *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == key {
			return root.Content[i+1]
		}
	}
	return root
}

// conditionStatus is the path at which templater also accepts booleans, and converts them to strings.
const conditionStatus = ".status.conditions[].status"

// node compares a node with the expected type.
func (at *docCheck) node(n *yaml.Node, t *openapi.Type, path string) {
	if at.status && n.Kind == yaml.ScalarNode && PrintedIn(n.Value) {
		at.endless(n, path)
	}
	if t == nil || t.Kinds == 0 || !at.c.Step() {
		return
	}
	if at.status && path == conditionStatus {
		wider := *t
		wider.Kinds |= openapi.Boolean
		t = &wider
	}
	if got := kindsOfNode(n); got != 0 && t.Kinds&got == 0 {
		at.c.Warn(finding.FieldType, at.place(n), "%s of %s is %s, not %s%s", path, at.object, (t.Kinds &^ openapi.Null).Words(), got.Words(), unquote(n, t))
		return
	}
	at.value(n, t, path)
	at.joined(n, t, path)
	switch n.Kind { //nolint:exhaustive // other kinds are not checked
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content) && !at.c.Ended(); i += 2 {
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

// entry checks an entry of a mapping.
func (at *docCheck) entry(key, v *yaml.Node, t *openapi.Type, path string) {
	switch f, there := t.Fields[key.Value]; {
	case key.Kind != yaml.ScalarNode || PrintedIn(key.Value) || key.Tag == "!!merge":
	case there:
		at.node(v, f.Type, path+"."+key.Value)
	case t.Fields == nil:
		at.node(v, t.Items, path+"."+key.Value)
	case !t.Open:
		at.unknown(key, t, path)
	}
}

func (at *docCheck) unknown(key *yaml.Node, t *openapi.Type, path string) {
	known := slices.Sorted(maps.Keys(t.Fields))
	nearest := at.c.Nearest(key.Value, known)
	hint := syntax.DidYouMean(nearest)
	if where := at.c.Within(t, key.Value); nearest == "" && where != "" {
		hint = "; it is in " + path + where
	}
	consequence := "the API server prunes it, or rejects the object"
	if at.code == finding.Pruned {
		consequence = "templater omits it: add it to the schema"
	}
	at.c.Warn(at.code, at.place(key), "%s has no field %s.%s, so %s%s", at.object, path, key.Value, consequence, hint).Replacement = nearest
}

// scalar compares a string with the allowed values.
func (at *docCheck) scalar(n *yaml.Node, t *openapi.Type, path string) {
	if len(t.Enum) == 0 || n.Value == "" || PrintedIn(n.Value) || kindsOfNode(n) != openapi.String {
		return
	}
	if slices.Contains(t.Enum, n.Value) {
		return
	}
	nearest := at.c.Nearest(n.Value, slices.Clone(t.Enum))
	hint := cmp.Or(syntax.DidYouMean(nearest), "; valid values are "+strings.Join(t.Enum[:min(len(t.Enum), 12)], ", "))
	replacement := nearest
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		replacement = ""
	}
	at.c.Warn(finding.FieldType, at.place(n), "%s of %s cannot be %q%s", path, at.object, n.Value, hint).Replacement = replacement
}

// kindsOfNode returns the kinds of a node, or 0 if they are unknown.
func kindsOfNode(n *yaml.Node) openapi.JSONTypes {
	switch {
	case n.Kind == yaml.MappingNode:
		return openapi.Map
	case n.Kind == yaml.SequenceNode:
		return openapi.List
	case n.Kind != yaml.ScalarNode:
		return 0
	case PrintedIn(n.Value) && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return openapi.String
	case PrintedIn(n.Value):
		return 0
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return openapi.String
	case "!!bool":
		return openapi.Boolean
	case "!!int":
		return openapi.Integer
	case "!!float":
		return openapi.Number
	}
	return 0
}
