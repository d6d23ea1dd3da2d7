package shape

import (
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file has rules about templates that work, and go on working without an end.

// temporary notes a Job that the cluster deletes some time after it has finished: its template yields it still.
func (at *shape) temporary(root *yaml.Node) {
	if at.kind.Group != "batch" || at.kind.Kind != "Job" || strings.Contains(at.s.Text.Content, ".status") {
		return
	}
	spec := entryOf(root, "spec")
	if spec.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(spec.Content); i += 2 {
		if key := spec.Content[i]; key.Value == "ttlSecondsAfterFinished" {
			at.c.Warn(finding.TemporaryJob, at.place(key), "", "the cluster deletes the Job when this time is over, and then it is made anew, and runs again: leave ttlSecondsAfterFinished out; the Job goes with its parent, or when its template yields it no more")
		}
	}
}

// endless notes a field of the status that is computed from itself, whatever happens, so that each pass changes it.
func (at *shape) endless(n *yaml.Node, path string) {
	from := at.place(n).Offset
	to := at.s.Text.Offset(at.first+n.Line-1, n.Column+len([]rune(n.Value)))
	for _, each := range at.c.units.Status.Body().Nodes {
		action, prints := each.(*parse.ActionNode)
		if !prints || int(action.Pos) < from || int(action.Pos) > to || len(action.Pipe.Decl) > 0 {
			continue
		}
		reads, grows := false, false
		syntax.EachOperand(action.Pipe, func(n parse.Node) {
			switch n := n.(type) {
			case *parse.IdentifierNode:
				grows = grows || funcs.Named(n).Is(syntax.Computes)
			case *parse.FieldNode:
				reads = reads || isStatus(n.Ident, path)
			case *parse.VariableNode:
				reads = reads || n.Ident[0] == "$" && isStatus(n.Ident[1:], path)
			}
		})
		if reads && grows {
			at.c.Warn(finding.EndlessStatus, Place{Text: at.s.Text, Offset: syntax.Start(action.Pipe), Length: len(action.Pipe.String())}, "", "%s is computed from itself, so that each pass changes it, and each change is another pass: compute it from .spec or .observed, or change it under a condition only", path)
		}
	}
}

// isStatus reports whether keys, from the root on, are a path such as .status.count.
func isStatus(keys []string, path string) bool {
	if len(keys) > 0 && keys[0] == "parent" {
		keys = keys[1:]
	}
	return "."+strings.Join(keys, ".") == path
}
