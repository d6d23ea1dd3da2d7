package syntax

import (
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/yamlerror"
)

// Yield is a kind of objects that a template can yield.
type Yield struct {
	APIVersion, Kind string
	// Role is what a RoleBinding or ClusterRoleBinding refers to, such as "clusterroles/view"; empty where the text does not show it.
	Role string
}

// Yields returns the kinds of objects that the template can yield, in the order in which its text names them. Both names
// stand in templates as literals, so this needs no data. complete is false where the text does not show the kind of
// some document, such as one that a helper yields by way of a pipeline.
func (u *Unit) Yields() (kinds []Yield, complete bool) {
	o := &outline{unit: u}
	o.list(u.Body(), 0)
	complete = !o.cut
	for _, doc := range documents(o.text.String()) {
		found, told := yieldsOf(doc)
		complete = complete && told
		for _, y := range found {
			if strings.HasSuffix(y.Kind, "RoleBinding") {
				y.Role = roleOf(doc)
			}
			if !slices.Contains(kinds, y) {
				kinds = append(kinds, y)
			}
		}
	}
	return kinds, complete
}

// documents divides a text at the lines that begin or end documents, which are left out.
func documents(text string) []string {
	var all []string
	from, at := 0, 0
	for line := range strings.Lines(text) {
		if yamlerror.BeginsDocument(line) || yamlerror.EndsDocument(line) {
			all = append(all, text[from:at])
			from = at + len(line)
		}
		at += len(line)
	}
	return append(all, text[from:])
}

const (
	// printed stands for what an action prints.
	printed = "\x00"
	// maxOutline bounds the text of an outline, in bytes, and maxCalls how deep definitions are followed.
	maxOutline, maxCalls = 4 << 20, 32
)

// outline is the text of a template with all its branches one after the other.
type outline struct {
	unit *Unit
	text strings.Builder
	cut  bool // something is missing
}

// write adds text, as far as it fits.
func (o *outline) write(text string) {
	if o.text.Len()+len(text) > maxOutline {
		o.cut = true
		return
	}
	o.text.WriteString(text)
}

// list adds what a list of nodes prints. depth is how many definitions call it.
func (o *outline) list(list *parse.ListNode, depth int) {
	if list == nil || o.cut {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			o.write(string(n.Text))
		case *parse.ActionNode:
			o.action(n.Pipe, depth)
		case *parse.TemplateNode:
			o.call(n.Name, depth)
		default:
			if b := Branch(n); b != nil {
				o.branches(b, depth)
			}
		}
	}
}

// branches adds both, each on a line of its own that begins as the line of the block does.
func (o *outline) branches(n *parse.BranchNode, depth int) {
	text := o.text.String()
	begin := text[strings.LastIndexByte(text, '\n')+1:]
	o.list(n.List, depth)
	if n.ElseList != nil {
		o.write("\n" + begin)
		o.list(n.ElseList, depth)
	}
}

// action adds what a pipeline prints.
func (o *outline) action(pipe *parse.PipeNode, depth int) {
	if len(pipe.Decl) > 0 {
		return
	}
	args := pipe.Cmds[len(pipe.Cmds)-1].Args
	name, isFunction := args[0].(*parse.IdentifierNode)
	switch {
	case Ends(pipe):
	case isFunction && len(pipe.Cmds) == 1 && len(args) > 1 && name.Ident == "include":
		if of, isLiteral := args[1].(*parse.StringNode); isLiteral {
			o.call(of.Text, depth)
			return
		}
		o.write(printed)
	default:
		o.write(printed)
	}
}

// call adds what a definition prints.
func (o *outline) call(name string, depth int) {
	def, found := o.unit.Lookup(name)
	if !found || name == "" || depth == maxCalls {
		o.write(printed)
		return
	}
	o.list(def.Tree.Root, depth+1)
}

var (
	comment   = regexp.MustCompile(`^[ \t]*#`)
	keyLine   = regexp.MustCompile(`^["']?(apiVersion|kind)["']?[ \t]*:[ \t]+(.*)$`)
	flowStart = regexp.MustCompile(`^[ \t]*[{]`)
	flowKey   = regexp.MustCompile(`["']?\b(apiVersion|kind)["']?[ \t]*:[ \t]*("[^"]*"|'[^']*'|[^\s,}]+)`)
)

// yieldsOf returns the kinds that one document of an outline can be of, and whether its text shows them all. A
// document without content has none.
func yieldsOf(doc string) (kinds []Yield, told bool) {
	lines := slices.DeleteFunc(strings.Split(doc, "\n"), func(line string) bool {
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
		for _, m := range flowKey.FindAllStringSubmatch(topLevel(doc), -1) {
			note(m[1], scalar(m[2]))
		}
		return pair(versions, names)
	}
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	for _, line := range lines {
		at := len(line) - len(strings.TrimLeft(line, " "))
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
	unknown := func(name string) bool { return name == "" || strings.Contains(name, printed) }
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
