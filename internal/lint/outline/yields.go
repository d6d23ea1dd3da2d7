package outline

import (
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Yield is a kind of object that a template can render.
type Yield struct {
	APIVersion, Kind string
	// Role is the role that a RoleBinding or ClusterRoleBinding refers to, such as "clusterroles/view"; "" = not literal.
	Role string
}

// Yields returns the kinds of objects that a child template can render, in the order of its text, including those in define blocks
// that it calls. apiVersion and kind are literal in templates, so this needs no data. complete is false if the text does not show the kind of
// a document, for example if a helper renders it in a pipeline. Lines that actions can add are ignored: see Skeleton.Kinds.
func Yields(p *render.Program, entry string) (kinds []Yield, complete bool) {
	all := p.Templates().Children
	i := slices.IndexFunc(all, func(u *syntax.Unit) bool { return u.Text.Name == syntax.ChildName(entry) })
	if i < 0 {
		return nil, false
	}
	e := &expansion{unit: all[i]}
	e.list(all[i].Body(), 0)
	complete = !e.cut
	for _, part := range divide(strings.Split(e.text.String(), "\n")) {
		found, told := yieldsOf(part.lines)
		complete = complete && told
		for _, y := range found {
			if strings.HasSuffix(y.Kind, "RoleBinding") {
				y.Role = roleOf(strings.Join(part.lines, "\n"))
			}
			if !slices.Contains(kinds, y) {
				kinds = append(kinds, y)
			}
		}
	}
	return kinds, complete
}

// maxExpansion is the maximum size of an expansion in bytes.
const maxExpansion = 1 << 20

// expansion is the text of a template with all its branches in sequence, and with the define blocks that it calls.
type expansion struct {
	unit *syntax.Unit
	text strings.Builder
	cut  bool // incomplete
}

// write appends text up to the limit.
func (e *expansion) write(text string) {
	if e.text.Len()+len(text) > maxExpansion {
		e.cut = true
		return
	}
	e.text.WriteString(text)
}

// list appends the output of nodes. depth is the depth of nested define blocks.
func (e *expansion) list(list *parse.ListNode, depth int) {
	if list == nil || e.cut {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			e.write(string(n.Text))
		case *parse.ActionNode:
			e.action(n.Pipe, depth)
		case *parse.TemplateNode:
			e.call(n.Name, depth)
		default:
			if b := syntax.Branch(n); b != nil {
				e.branches(b, depth)
			}
		}
	}
}

// branches appends both branches on separate lines with the indentation of the block.
func (e *expansion) branches(n *parse.BranchNode, depth int) {
	text := e.text.String()
	begin := text[strings.LastIndexByte(text, '\n')+1:]
	e.list(n.List, depth)
	if n.ElseList != nil {
		e.write("\n" + begin)
		e.list(n.ElseList, depth)
	}
}

// action appends the output of a pipeline.
func (e *expansion) action(pipe *parse.PipeNode, depth int) {
	if len(pipe.Decl) > 0 || syntax.Ends(pipe) {
		return
	}
	args := pipe.Cmds[len(pipe.Cmds)-1].Args
	name, isFunction := args[0].(*parse.IdentifierNode)
	if isFunction && len(pipe.Cmds) == 1 && len(args) > 1 && name.Ident == "include" {
		if of, isLiteral := args[1].(*parse.StringNode); isLiteral {
			e.call(of.Text, depth)
			return
		}
	}
	e.write(string(blank))
}

// call appends the output of a define block.
func (e *expansion) call(name string, depth int) {
	def, found := e.unit.Lookup(name)
	if !found || name == "" || depth == types.MaxChain {
		e.write(string(blank))
		return
	}
	e.list(def.Tree.Root, depth+1)
}

var (
	comment   = regexp.MustCompile(`^[ \t]*#`)
	keyLine   = regexp.MustCompile(`^["']?(apiVersion|kind)["']?[ \t]*:[ \t]+(.*)$`)
	flowStart = regexp.MustCompile(`^[ \t]*[{]`)
	flowKey   = regexp.MustCompile(`["']?\b(apiVersion|kind)["']?[ \t]*:[ \t]*("[^"]*"|'[^']*'|[^\s,}]+)`)
)

// yieldsOf returns the possible kinds of one document, and whether its text shows them all. A
// document without content has none.
func yieldsOf(all []string) (kinds []Yield, told bool) {
	lines := slices.DeleteFunc(slices.Clone(all), func(line string) bool {
		return strings.TrimSpace(line) == "" || comment.MatchString(line)
	})
	if len(lines) == 0 {
		return nil, true
	}
	var versions, names []string
	note := func(key, value string) {
		if key == "kind" {
			names = append(names, value)
		} else {
			versions = append(versions, value)
		}
	}
	if flowStart.MatchString(lines[0]) {
		for _, m := range flowKey.FindAllStringSubmatch(topLevel(strings.Join(all, "\n")), -1) {
			note(m[1], scalar(m[2]))
		}
		return pair(versions, names)
	}
	indent := margin(lines[0])
	for _, line := range lines {
		at := margin(line)
		if m := keyLine.FindStringSubmatch(line[at:]); m != nil && at <= indent {
			note(m[1], scalar(m[2]))
		}
	}
	return pair(versions, names)
}

// topLevel returns the text in the outermost braces of a flow mapping, without nested values.
func topLevel(flow string) string {
	var out strings.Builder
	depth, quote := 0, rune(0)
	for _, r := range flow {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"', r == '\'':
			quote = r
		case r == '{', r == '[':
			depth++
		case r == '}', r == ']':
			depth--
		}
		if depth == 1 {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// scalar returns the value of a scalar on one line.
func scalar(text string) string {
	if i := strings.Index(text, " #"); i >= 0 {
		text = text[:i]
	}
	return strings.Trim(strings.TrimSpace(text), `"'`)
}

// pair returns the combinations of kinds and versions, and whether they are complete.
func pair(versions, names []string) (kinds []Yield, told bool) {
	unknown := func(name string) bool { return name == "" || PrintedIn(name) }
	if len(versions) == 0 || len(names) == 0 || slices.ContainsFunc(versions, unknown) || slices.ContainsFunc(names, unknown) {
		return nil, false
	}
	switch {
	case same(versions):
		for _, name := range names {
			kinds = append(kinds, Yield{APIVersion: versions[0], Kind: name})
		}
	case same(names):
		for _, version := range versions {
			kinds = append(kinds, Yield{APIVersion: version, Kind: names[0]})
		}
	case len(versions) == len(names):
		for i, name := range names {
			kinds = append(kinds, Yield{APIVersion: versions[i], Kind: name})
		}
	default:
		return nil, false
	}
	return kinds, true
}

// same reports whether all words are equal.
func same(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return word != words[0] })
}

var (
	roleRef   = regexp.MustCompile(`["']?\broleRef["']?[ \t]*:[ \t]*(\{[^{}]*\}|\n(?:[ \t]+.*\n?|[ \t]*\n)*)`)
	roleField = regexp.MustCompile(`["']?\b(kind|name)["']?[ \t]*:[ \t]*("[^"]*"|'[^']*'|[^\s,}]+)`)
	roleName  = regexp.MustCompile(`^[-.:_a-zA-Z0-9]+$`)
)

// roleOf returns the role of a binding in the form of Yield.Role.
func roleOf(doc string) string {
	refs := roleRef.FindAllStringSubmatch(doc, -1)
	if len(refs) != 1 {
		return ""
	}
	fields := map[string]string{}
	for _, m := range roleField.FindAllStringSubmatch(refs[0][1], -1) {
		if _, twice := fields[m[1]]; twice {
			return ""
		}
		fields[m[1]] = scalar(m[2])
	}
	if kind := fields["kind"]; (kind == "Role" || kind == "ClusterRole") && roleName.MatchString(fields["name"]) {
		return strings.ToLower(kind) + "s/" + fields["name"]
	}
	return ""
}
