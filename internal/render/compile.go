package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// Compile parses and checks all templates. The error is an [Errors] with
// every finding.
func Compile(src Source) (*Program, error) {
	c := &compiler{src: src, names: childNames(src.Children), visited: map[visit]bool{}}
	if c.left() == c.right() {
		return nil, Errors{{Template: "delimiters", Reason: Invalid, Message: "left and right are the same, so the end of an action " +
			"cannot be told from its beginning; give two different ones"}}
	}
	helpers := c.helpers()
	p := &Program{controller: src.Controller, values: src.Values, names: c.names, children: map[string]*unit{}}
	for _, child := range src.Children {
		if p.children[child.Name] != nil {
			c.add(&Error{Template: childName(child.Name), Reason: Invalid, Message: "there are two children of this name"})
		}
		p.children[child.Name] = c.unit(newText(childName(child.Name), child.Text), helpers, false)
	}
	if src.Status != "" {
		p.status = c.unit(newText("status", src.Status), helpers, true)
	}
	if len(c.errors) > 0 {
		return nil, c.errors
	}
	p.reads = c.reads
	p.texts, p.marker = c.texts, chooseMarker(c.texts)
	if p.marker > string(lastMarker) {
		return nil, Errors{{Template: "helpers", Reason: Invalid, Message: "the templates use every private-use character of Unicode"}}
	}
	return p, nil
}

func childNames(children []Template) []string {
	names := make([]string, len(children))
	for i, child := range children {
		names[i] = child.Name
	}
	slices.Sort(names)
	return names
}

// compiler gathers findings.
type compiler struct {
	src     Source
	names   []string // of the children, sorted
	texts   []*text
	errors  Errors
	visited map[visit]bool
	reads   Reads
}

// maxFindings is the number of findings after which nobody reads on.
const maxFindings = 50

// full reports whether there are enough findings.
func (c *compiler) full() bool { return len(c.errors) >= maxFindings }

// add keeps a finding, unless it is there already: a define block is checked
// for each kind of dot that it may be called with.
func (c *compiler) add(e *Error) {
	if !c.full() && !slices.ContainsFunc(c.errors, func(o *Error) bool { return *o == *e }) {
		c.errors = append(c.errors, e)
	}
}

// helpers parses the define blocks that all templates share.
func (c *compiler) helpers() map[string]definition {
	t := newText("helpers", c.src.Helpers)
	trees := c.parse(t)
	defined := map[string]definition{}
	for name, tree := range trees {
		if name != "" {
			defined[name] = definition{tree, t}
			continue
		}
		for _, n := range tree.Root.Nodes {
			if !parse.IsEmptyTree(n) {
				c.add(t.errorAt(start(n), Invalid, "helpers hold only define blocks; nothing else here would ever be rendered"))
				break
			}
		}
	}
	c.checkHelpers(defined)
	return defined
}

// unit parses and checks a template.
func (c *compiler) unit(t *text, helpers map[string]definition, status bool) *unit {
	u := &unit{text: t, status: status, own: map[string]definition{}, helpers: helpers}
	trees := c.parse(t)
	for _, name := range sortedKeys(trees) {
		if _, twice := helpers[name]; twice {
			c.add(t.errorAt(int(trees[name].Root.Pos), Invalid, fmt.Sprintf("a define block named %q is in helpers already", name)))
		}
		u.own[name] = definition{trees[name], t}
	}
	if trees != nil {
		c.check(u)
	}
	return u
}

// parse returns the trees of a text by name, its body under "", or nil after
// an error.
func (c *compiler) parse(t *text) map[string]*parse.Tree {
	c.texts = append(c.texts, t)
	if len(t.content) > maxTemplate {
		c.add(&Error{Template: t.name, Reason: Invalid, Message: fmt.Sprintf("the template is longer than %d bytes", maxTemplate)})
		return nil
	}
	trees := map[string]*parse.Tree{}
	tree := parse.New("")
	// Functions are checked later, to find all mistakes and say more.
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(t.content, c.src.LeftDelim, c.src.RightDelim, trees)
	if err != nil {
		c.addParseError(t, err)
		return nil
	}
	return trees
}

// parseErrorText is how package parse writes errors: a line, no column, and
// text that may quote the template.
var parseErrorText = regexp.MustCompile(`^template: [^:]*:(\d+):(?:\d+:)? (.*)$`)

// addParseError adds what the parser found.
func (c *compiler) addParseError(t *text, err error) {
	e := parseError(t, err)
	var blocks []*Error
	if e.Message == missingEnd {
		blocks = c.unclosed(t)
	}
	for _, block := range blocks {
		c.add(block)
	}
	if len(blocks) == 0 {
		c.add(e)
	}
}

// missingEnd is said where it is not known which block it is about.
const missingEnd = "the template ends within a block: an end is missing"

func parseError(t *text, err error) *Error {
	e := &Error{Template: t.name, Reason: Invalid, Message: oneLine(strings.TrimPrefix(err.Error(), "template: "))}
	if m := parseErrorText.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " ")); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Message = oneLine(plainParseError(m[2]))
	}
	return e
}

// plainParseErrors are the errors of package parse that name no remedy.
var plainParseErrors = []struct {
	text  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`^unexpected EOF$`), missingEnd},
	{regexp.MustCompile(`^unexpected \{\{end\}\}$`), "there is no block for this end: remove it"},
	{regexp.MustCompile(`^unclosed action$`), "the action is not closed: its right delimiter is missing"},
	{regexp.MustCompile(`^unclosed action started at [^:]*:(\d+)$`), "the action that begins in line $1 is not closed: its right delimiter is missing"},
	{regexp.MustCompile(`^(.*) in action started at [^:]*:(\d+)$`), "$1 in the action that begins in line $2: its right delimiter may be missing"},
}

func plainParseError(text string) string {
	for _, e := range plainParseErrors {
		if e.text.MatchString(text) {
			return e.text.ReplaceAllString(text, e.plain)
		}
	}
	return text
}
