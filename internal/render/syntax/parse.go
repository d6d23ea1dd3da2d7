// Package syntax parses templates, and reports the errors that can be found without data, with their line and column.
package syntax

import (
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/finding"
)

// Source is the input of Parse.
type Source struct {
	// LeftDelim and RightDelim enclose actions; "" means {{ and }}.
	LeftDelim, RightDelim string
	// Helpers holds define blocks, visible to every other template.
	Helpers string
	// Children holds the templates of the children, in order.
	Children []Template
	// ReadyWhen holds expressions, by the names of the children whose objects they judge.
	ReadyWhen []Template
	// Filter is the expression that selects parents; "" means there is none. FilterSeesStatus is whether it may read
	// their status.
	Filter           string
	FilterSeesStatus bool
	// Status is the template of the parent's status; "" means there is none.
	Status string
	// Related holds the select templates of related objects, in order; a text of "" means that there is none.
	Related []Template
	// Functions holds what templates may call, by name.
	Functions map[string]*Function
	// Logs is whether an entry of Related has logs.
	Logs bool
	// Pause is called periodically. Parse stops at its error and returns it; nil = no pauses.
	Pause func() error
}

// Template is the named template of one entry.
type Template struct{ Name, Text string }

// Templates are the parsed templates of a [Source].
type Templates struct {
	Names     []string // of the children, sorted
	Children  []*Unit  // in the order of the source
	ReadyWhen []*Unit  // in the order of the source
	Status    *Unit    // nil if there is no status template
	Filter    *Unit    // nil if there is no filter
	Related   []string // the names of related objects, sorted
	Selects   []*Unit  // in the order of the source; nil where there is no template
	Texts     []*Text  // all of them, as written
	Helpers   map[string]Definition
	Reads     Reads
	// Awaits holds what the template of each child reads as .children.NAME, in the order of the source: other children, sorted.
	Awaits [][]string
}

// Parse parses and checks all templates. The error is an [Errors] with
// every finding, or that of a pause. With an [Errors], it returns the templates without errors, for further checks only: see sound. They have
// no Texts, Reads or Awaits.
func Parse(src Source) (Templates, error) {
	c := &compiler{src: src, names: namesOf(src.Children), related: namesOf(src.Related), visited: map[visit]bool{}, callers: map[string]bool{}}
	if c.left() == c.right() {
		return Templates{}, Errors{{Template: "spec.delimiters", Reason: Invalid, Code: finding.Delimiters, Message: "left and right delimiter are equal: set two different delimiters"}}
	}
	helpers := c.helpers()
	t := Templates{Names: c.names, Helpers: helpers, Children: make([]*Unit, len(src.Children)), Related: c.related, Selects: make([]*Unit, len(src.Related))}
	twice := repeated(src.Related)
	for i, related := range src.Related {
		if twice[i] {
			c.add(&Error{Template: RelatedName(related.Name), Reason: Invalid, Code: finding.SecondName, Message: "two entries of related are named " + related.Name + ": use unique names"})
		}
		if related.Text != "" {
			t.Selects[i] = c.unit(NewText(SelectName(related.Name), related.Text), helpers, ForSelect)
		}
	}
	twice = repeated(src.Children)
	for i, child := range src.Children {
		if twice[i] {
			c.add(&Error{Template: ChildName(child.Name), Reason: Invalid, Code: finding.SecondName, Message: "two child templates are named " + child.Name + ": use unique names"})
		}
		t.Children[i] = c.unit(NewText(ChildName(child.Name), child.Text), helpers, ForChild)
	}
	for _, e := range src.ReadyWhen {
		t.ReadyWhen = append(t.ReadyWhen, c.expression(NewText(ReadyWhenName(e.Name), e.Text), helpers, ForReadyWhen))
	}
	if src.Filter != "" {
		t.Filter = c.expression(NewText(FilterName, src.Filter), helpers, src.filterPurpose())
	}
	if src.Status != "" {
		t.Status = c.unit(NewText(statusName, src.Status), helpers, ForStatus)
	}
	if len(c.errors) == 0 {
		t.Texts, t.Reads = c.texts, c.reads
		for i, u := range t.Children {
			t.Awaits = append(t.Awaits, c.awaits(u, src.Children[i].Name))
		}
	}
	switch {
	case c.paused():
		return Templates{}, c.ended
	case len(c.errors) > 0:
		return c.sound(&t), c.found()
	}
	return t, nil
}

func (s *Source) filterPurpose() Purpose {
	if s.FilterSeesStatus {
		return ForFilter
	}
	return ForFilterWithoutStatus
}

// repeated returns the indexes of the templates that have the name of an earlier one.
func repeated(all []Template) map[int]bool {
	seen, repeated := make(map[string]bool, len(all)), map[int]bool{}
	for i, t := range all {
		if seen[t.Name] {
			repeated[i] = true
		}
		seen[t.Name] = true
	}
	return repeated
}

func namesOf(all []Template) []string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	slices.Sort(names)
	return names
}

// Unit is one template with the define blocks that it can call.
type Unit struct {
	Text    *Text
	Purpose Purpose
	own     map[string]Definition // its body is under ""
	helpers map[string]Definition // shared by all units
}

// Body returns the body, which is executed first.
func (u *Unit) Body() *parse.ListNode { return u.own[""].Tree.Root }

// Lookup returns the definition of this name; "" is the name of the body.
func (u *Unit) Lookup(name string) (Definition, bool) {
	if def, ok := u.own[name]; ok {
		return def, true
	}
	def, ok := u.helpers[name]
	return def, ok
}

// Definition is a parsed template body and its text.
type Definition struct {
	Tree *parse.Tree
	Text *Text
}

// Limits of templates, so that recursion over parsed templates cannot exhaust the stack.
const (
	// maxNesting is the maximum nesting depth of blocks and parentheses.
	maxNesting = 200
	// maxTemplate is the maximum size of one template in bytes. An object in etcd is at most 1.5 MB.
	maxTemplate = 512 << 10
)

// compiler collects findings.
type compiler struct {
	src     Source
	names   []string // of the children, sorted
	related []string // of related objects, sorted
	texts   []*Text
	errors  Errors
	visited map[visit]bool
	reads   Reads
	traces  map[visit]*trace
	callers map[string]bool // the templates that call a define block of helpers, or one that may be there: see unread
	unread  bool            // the helpers cannot be parsed, so their define blocks are not known
	ended   error           // of a pause
}

// maxFindings is the number of findings after which checking stops.
const maxFindings = 50

// full reports whether there are more findings than maxFindings.
func (c *compiler) full() bool { return len(c.errors) > maxFindings }

// paused calls the pause function, and reports whether the work must stop.
func (c *compiler) paused() bool {
	if c.ended == nil && c.src.Pause != nil {
		c.ended = c.src.Pause()
	}
	return c.ended != nil
}

// done reports whether to stop.
func (c *compiler) done() bool { return c.full() || c.paused() }

// found returns the findings. If there are more than maxFindings, the last one says so.
func (c *compiler) found() Errors {
	if !c.full() {
		return c.errors
	}
	return append(c.errors[:maxFindings:maxFindings], &Error{Template: "spec", Reason: Invalid, Code: finding.NotShown, Message: finding.More().Message})
}

// add adds a finding, unless it exists already: a define block is checked for each kind of dot that it may be called with.
func (c *compiler) add(e *Error) {
	if !c.full() && !slices.ContainsFunc(c.errors, func(o *Error) bool { return *o == *e }) {
		c.errors = append(c.errors, e)
	}
}

// helpers parses the define blocks that all templates share.
func (c *compiler) helpers() map[string]Definition {
	t := NewText(helpersName, c.src.Helpers)
	trees := c.parse(t)
	c.unread = len(trees) == 0 && len(c.errors) > 0
	defined := map[string]Definition{}
	for name, tree := range trees {
		if name != "" {
			defined[name] = Definition{tree, t}
			continue
		}
		for _, n := range tree.Root.Nodes {
			if !parse.IsEmptyTree(n) {
				c.add(t.broken(finding.TextInHelpers, Start(n), "helpers must contain only define blocks; other text is never rendered"))
				break
			}
		}
	}
	c.checkHelpers(defined)
	return defined
}

// unit parses and checks a template.
func (c *compiler) unit(t *Text, helpers map[string]Definition, purpose Purpose) *Unit {
	u := &Unit{Text: t, Purpose: purpose, own: map[string]Definition{}, helpers: helpers}
	trees := c.parse(t)
	for _, name := range sorted(trees) {
		if _, twice := helpers[name]; twice {
			c.add(t.broken(finding.SecondDefinition, t.definition(name, int(trees[name].Root.Pos)), fmt.Sprintf("helpers already has a define block named %q", name)))
		}
		u.own[name] = Definition{trees[name], t}
	}
	if trees != nil {
		c.check(u)
	}
	return u
}

// parse returns the trees of a text by name, its body under "", or nil after
// an error.
func (c *compiler) parse(t *Text) map[string]*parse.Tree {
	c.texts = append(c.texts, t)
	if c.paused() {
		return nil
	}
	if len(t.Content) > maxTemplate {
		c.add(&Error{Template: t.Name, Reason: Invalid, Code: finding.TooMuch, Message: fmt.Sprintf("the template is longer than %d bytes", maxTemplate)})
		return nil
	}
	trees := map[string]*parse.Tree{}
	tree := parse.New("")
	// Functions are checked later, to find all mistakes and report more details.
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(c.content(t), c.src.LeftDelim, c.src.RightDelim, trees)
	if err != nil {
		c.addParseError(t, err)
		return nil
	}
	return trees
}
