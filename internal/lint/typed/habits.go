package typed

import (
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file has rules about templates that work, and go on working without an end.

// temporary notes a Job that the cluster deletes some time after it has finished: its template yields it still.
func (at *shape) temporary(root *yaml.Node) {
	if at.kind.Group != "batch" || at.kind.Kind != "Job" || strings.Contains(at.s.text.Content, ".status") {
		return
	}
	spec := entryOf(root, "spec")
	if spec.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(spec.Content); i += 2 {
		if key := spec.Content[i]; key.Value == "ttlSecondsAfterFinished" {
			at.c.warnf(finding.TemporaryJob, at.place(key), "the cluster deletes the Job when this time is over, and then it is made anew, and runs again: leave ttlSecondsAfterFinished out; the Job goes with its parent, or when its template yields it no more")
		}
	}
}

// growing are functions whose result differs from what they are given.
var growing = map[string]bool{
	"add": true, "add1": true, "sub": true, "mul": true, "addf": true, "add1f": true, "subf": true, "mulf": true, "append": true, "mustAppend": true, "push": true, "mustPush": true,
	"prepend": true, "mustPrepend": true, "concat": true, "list": true, "tuple": true, "printf": true, "print": true, "cat": true,
}

// endless notes a field of the status that is computed from itself, whatever happens, so that each pass changes it.
func (at *shape) endless(n *yaml.Node, path string) {
	from := at.place(n).offset
	to := at.s.offset(at.s.starts(), at.first+n.Line-1, n.Column+len([]rune(n.Value)))
	for _, each := range at.c.units.Status.Body().Nodes {
		action, prints := each.(*parse.ActionNode)
		if !prints || int(action.Pos) < from || int(action.Pos) > to || len(action.Pipe.Decl) > 0 {
			continue
		}
		reads, grows := false, false
		operands(action.Pipe, func(n parse.Node) {
			switch n := n.(type) {
			case *parse.IdentifierNode:
				grows = grows || growing[n.Ident]
			case *parse.FieldNode:
				reads = reads || isStatus(n.Ident, path)
			case *parse.VariableNode:
				reads = reads || n.Ident[0] == "$" && isStatus(n.Ident[1:], path)
			}
		})
		if reads && grows {
			at.c.warnf(finding.EndlessStatus, at.c.atIn(at.s.text, action.Pipe), "%s is computed from itself, so that each pass changes it, and each change is another pass: compute it from .spec or .observed, or change it under a condition only", path)
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

func (c *checker) atIn(text *syntax.Text, n parse.Node) place {
	return place{text: text, offset: syntax.Start(n), node: n}
}

// operands calls do with each operand of a pipeline, functions among them.
func operands(pipe *parse.PipeNode, do func(parse.Node)) {
	for _, cmd := range pipe.Cmds {
		for _, n := range cmd.Args {
			switch n := n.(type) {
			case *parse.PipeNode:
				operands(n, do)
			case *parse.ChainNode:
				if inner, ok := n.Node.(*parse.PipeNode); ok {
					operands(inner, do)
				}
			default:
				do(n)
			}
		}
	}
}

// unused notes helpers that nobody calls, and values that nobody reads.
func (c *checker) unused() {
	if c.gaveUp || c.anyName || len(c.partial) > 0 {
		return
	}
	for _, name := range sortedKeys(c.units.Helpers) {
		if c.gaveUp {
			return
		}
		def := c.units.Helpers[name]
		if !c.called[def.Tree] {
			at := place{text: def.Text, offset: int(def.Tree.Root.Pos)}
			if i := strings.LastIndex(def.Text.Content[:min(at.offset, len(def.Text.Content))], name); i >= 0 {
				at.offset, at.length = i, len(name)
			}
			c.warnf(finding.UnusedHelper, at, "nobody calls the define block %q: remove it, or include it", name)
		}
	}
	read, whole := c.valuesRead()
	if whole {
		return
	}
	for _, key := range sortedKeys(c.program.Values()) {
		if len(c.notes)+len(c.more) >= maxNotes {
			return
		}
		if !read[key] {
			c.more = append(c.more, finding.Finding{
				Code: finding.UnusedValue, Severity: finding.Warning, Where: "spec.values." + syntax.OneLine(key),
				Message: "no template reads .values." + syntax.OneLine(key) + ": remove it, or use it",
			})
		}
	}
}

// valuesRead returns the keys that texts read as .values.KEY, or that one reads .values as a whole.
func (c *checker) valuesRead() (keys map[string]bool, whole bool) {
	const name = ".values"
	keys = map[string]bool{}
	for _, text := range c.units.Texts {
		rest := text.Content
		for {
			_, after, found := strings.Cut(rest, name)
			if !found {
				break
			}
			key, dotted := strings.CutPrefix(after, ".")
			end := strings.IndexFunc(key, func(r rune) bool { return !word(r) })
			if end < 0 {
				end = len(key)
			}
			if !dotted || end == 0 {
				return nil, true
			}
			keys[key[:end]] = true
			rest = after
		}
	}
	return keys, false
}

func word(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r >= 0x80
}
