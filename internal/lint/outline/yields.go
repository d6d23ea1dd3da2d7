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

// Yield is a kind of objects that a template can yield.
type Yield struct {
	APIVersion, Kind string
	// Role is what a RoleBinding or ClusterRoleBinding refers to, such as "clusterroles/view"; empty where the text does not show it.
	Role string
}

// Yields returns the kinds of objects that the template of an entry can yield, in the order in which its text names them, with what define blocks
// print. Both names stand in templates as literals, so this needs no data. complete is false where the text does not show the kind of
// some document, such as one that a helper yields by way of a pipeline. What lines that are printed may add is left out: see Skeleton.Kinds.
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

// maxExpansion bounds the text of an expansion, in bytes.
const maxExpansion = 4 << 20

// expansion is the text of a template with all its branches one after the other, and that of the define blocks that it calls.
type expansion struct {
	unit *syntax.Unit
	text strings.Builder
	cut  bool // something is missing
}

// write adds text, as far as it fits.
func (e *expansion) write(text string) {
	if e.text.Len()+len(text) > maxExpansion {
		e.cut = true
		return
	}
	e.text.WriteString(text)
}

// list adds what a list of nodes prints. depth is how many definitions call it.
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

// branches adds both, each on a line of its own that begins as the line of the block does.
func (e *expansion) branches(n *parse.BranchNode, depth int) {
	text := e.text.String()
	begin := text[strings.LastIndexByte(text, '\n')+1:]
	e.list(n.List, depth)
	if n.ElseList != nil {
		e.write("\n" + begin)
		e.list(n.ElseList, depth)
	}
}

// action adds what a pipeline prints.
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

// call adds what a definition prints.
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

// yieldsOf returns the kinds that one document can be of, and whether its text shows them all. A
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

// topLevel returns what stands in the outermost braces of a flow mapping, without what is nested in it.
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

// scalar returns the value that a scalar on one line stands for.
func scalar(text string) string {
	if i := strings.Index(text, " #"); i >= 0 {
		text = text[:i]
	}
	return strings.Trim(strings.TrimSpace(text), `"'`)
}

// pair returns which kinds there are in which versions, and whether that is all.
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

// same reports whether all words are the first one.
func same(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return word != words[0] })
}

var (
	roleRef   = regexp.MustCompile(`["']?\broleRef["']?[ \t]*:[ \t]*(\{[^{}]*\}|\n(?:[ \t]+.*\n?|[ \t]*\n)*)`)
	roleField = regexp.MustCompile(`["']?\b(kind|name)["']?[ \t]*:[ \t]*("[^"]*"|'[^']*'|[^\s,}]+)`)
	roleName  = regexp.MustCompile(`^[-.:_a-zA-Z0-9]+$`)
)

// roleOf returns the role that a binding refers to, as a Yield has it.
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
