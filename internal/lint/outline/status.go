package outline

import (
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// endless reports a field of the status that is always computed from itself, so that each reconciliation changes it.
func (at *docCheck) endless(n *yaml.Node, path string) {
	from := at.place(n).Offset
	to := at.s.Text.Offset(at.first+n.Line-1, n.Column+len([]rune(n.Value)))
	for _, each := range at.c.Units.Status.Body().Nodes {
		action, prints := each.(*parse.ActionNode)
		if !prints || int(action.Pos) < from || int(action.Pos) > to || len(action.Pipe.Decl) > 0 {
			continue
		}
		reads, grows, settles := false, false, false
		syntax.EachOperand(action.Pipe, func(n parse.Node) {
			switch n := n.(type) {
			case *parse.IdentifierNode:
				grows = grows || funcs.Named(n).Is(syntax.Computes)
				settles = settles || n.Ident == "uniq" || n.Ident == "mustUniq"
			case *parse.FieldNode:
				reads = reads || isStatus(n.Ident, path)
			case *parse.VariableNode:
				reads = reads || n.Ident[0] == "$" && isStatus(n.Ident[1:], path)
			}
		})
		if reads && grows && !settles {
			at.c.Warn(finding.EndlessStatus, types.Place{Text: at.s.Text, Offset: syntax.Start(action.Pipe), Length: len(action.Pipe.String())}, "%s is computed from itself, so each reconciliation changes it and triggers the next one: compute it from .spec or .observed, or change it only under a condition", path)
		}
	}
}

// isStatus reports whether keys from the root are a path such as .status.count.
func isStatus(keys []string, path string) bool {
	if len(keys) > 0 && keys[0] == "parent" {
		keys = keys[1:]
	}
	return "."+strings.Join(keys, ".") == path
}

// ownCondition reports a condition of the status template that templater writes itself: see internal/reconcile/status.
func (c *checker) ownCondition(s *Skeleton) {
	own := spec.ReadyCondition(c.Spec)
	for _, d := range s.Documents {
		conditions := valueOf(d.Root, "conditions")
		if own == "" || conditions == nil || conditions.Kind != yaml.SequenceNode {
			continue
		}
		at := c.in(s, d)
		for _, item := range conditions.Content {
			if of := valueOf(item, "type"); of != nil && of.Kind == yaml.ScalarNode && of.Value == own && c.Step() {
				c.Warn(finding.OwnCondition, at.place(of), "the %s condition is written by templater, and a status that contains it is rejected: remove it, or set spec.status.readyCondition to another type, or to \"\" for none", own)
			}
		}
	}
}

// valueOf returns the value of a key, or nil if it does not exist or the node is not a mapping.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if v := entryOf(n, key); v != n && n.Kind == yaml.MappingNode {
		return v
	}
	return nil
}
