package syntax

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// checker looks through the templates of a unit for what is bound to fail.
type checker struct {
	c *compiler
	u *Unit
	// src is the text that the current template is from, and at is its check.
	src *Text
	at  visit
}

// Reads tells what templates read of that which changes by what they yield.
type Reads struct {
	// Status is whether any template reads the parent's status.
	Status bool
	// Children is whether the template of a child reads live children. What the status template and readyWhen read
	// of them is not in it.
	Children bool
}

// reads notes that the templates of a unit read a path from the root on; no keys are the root as a whole.
func (k *checker) reads(keys []string) {
	r, key, whole := &k.c.reads, "", len(keys) == 0
	if !whole {
		key = keys[0]
	}
	if key == "children" && len(keys) > 1 {
		k.c.trace(k.at).children[keys[1]] = true
	}
	if whole || key == "status" || key == "parent" && (len(keys) == 1 || keys[1] == "status") {
		r.Status = true
	}
	if k.u.Purpose == ForChild && (whole || key == "children" || key == "observed") {
		r.Children = true
	}
}

// visit is a check of a definition that need not be done again. Those of
// helpers are the same for all children, which keeps checking linear.
type visit struct {
	tree    *parse.Tree
	root    bool
	purpose Purpose
}

// scope is what is known at a place about dot.
type scope struct {
	dot, dollar bool // whether . and $ are the root of the data
	blocks      int  // around the place
	parentheses int
}

// check adds the findings in a unit and in the helpers.
func (c *compiler) check(u *Unit) {
	k := &checker{c: c, u: u}
	for _, name := range sorted(u.own) {
		k.template(u.own[name], name == "")
	}
}

// checkHelpers adds the findings in helpers that do not depend on who calls.
func (c *compiler) checkHelpers(helpers map[string]Definition) {
	k := &checker{c: c, u: &Unit{helpers: helpers}}
	for _, name := range sorted(helpers) {
		k.template(helpers[name], false)
	}
}

// template checks a definition once for what its dot may be. What does not
// depend on dot is found either way.
func (k *checker) template(def Definition, root bool) {
	v := visit{def.Tree, root, k.u.Purpose}
	if k.at.tree != nil {
		k.c.trace(k.at).calls[v] = true
	}
	if k.c.visited[v] {
		return
	}
	k.c.visited[v] = true
	src, at := k.src, k.at
	k.src, k.at = def.Text, v
	k.list(def.Tree.Root, scope{dot: root, dollar: root})
	k.src, k.at = src, at
}

// errorf adds what is wrong with the operand that a node begins with.
func (k *checker) errorf(code finding.Code, n parse.Node, format string, args ...any) {
	k.c.add(k.src.broken(code, Start(n), fmt.Sprintf(format, args...)))
}

// unknown adds that there is no such name, and what may have been meant: what the author has written, and what to write.
func (k *checker) unknown(code finding.Code, n parse.Node, written, replacement, message string) {
	e := k.src.broken(code, Start(n), message)
	if written != "" {
		e.Length = utf8.RuneCountInString(written)
	}
	e.Replacement = replacement
	k.c.add(e)
}

func (k *checker) list(list *parse.ListNode, s scope) {
	if list == nil {
		return
	}
	if s.blocks++; s.blocks > maxNesting {
		k.errorf(finding.TooMuch, list, "blocks are nested more than %d deep", maxNesting)
		return
	}
	for _, n := range list.Nodes {
		k.node(n, s)
	}
}

func (k *checker) node(n parse.Node, s scope) {
	if k.c.done() {
		return
	}
	switch n := n.(type) {
	case *parse.ActionNode:
		k.discarded(n.Pipe)
		k.pipe(n.Pipe, s)
	case *parse.IfNode:
		k.pipe(n.Pipe, s)
		k.list(n.List, s)
		k.list(n.ElseList, s)
	case *parse.WithNode:
		k.handOn(n.Pipe, s)
		k.branch(&n.BranchNode, s, isRoot(n.Pipe, s))
	case *parse.RangeNode:
		k.pipe(n.Pipe, s) // whose dot is a value of the root, never the root
		k.branch(&n.BranchNode, s, false)
	case *parse.TemplateNode:
		k.call(n, n.Name, n.Pipe != nil && isRoot(n.Pipe, s))
		if n.Pipe != nil {
			k.handOn(n.Pipe, s)
		}
	}
}

// branch checks what is in a block that sets dot.
func (k *checker) branch(n *parse.BranchNode, s scope, dotIsRoot bool) {
	inner := s
	inner.dot = dotIsRoot
	k.list(n.List, inner)
	k.list(n.ElseList, s)
}

// handOn checks the pipeline that becomes the dot of another scope. What is read of the root, where it is just
// that, is seen there.
func (k *checker) handOn(pipe *parse.PipeNode, s scope) {
	if len(pipe.Decl) > 0 || !isRoot(pipe, s) {
		k.pipe(pipe, s)
	}
}

// isRoot reports whether a pipeline is just . or $ where that is the root.
func isRoot(pipe *parse.PipeNode, s scope) bool {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return false
	}
	return rootOperand(pipe.Cmds[0].Args[0], s)
}

func rootOperand(n parse.Node, s scope) bool {
	switch n := n.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.VariableNode:
		return s.dollar && len(n.Ident) == 1 && n.Ident[0] == "$"
	}
	return false
}

// call checks that a template is there, and checks it. Helpers may call only
// helpers, for they are shared by all templates.
func (k *checker) call(at parse.Node, name string, root bool) {
	def, ok := k.u.helpers[name]
	if own := k.u.own[name]; name != "" && own.Text == k.src {
		def, ok = own, true
	}
	if k.src == k.u.Text && (!ok && k.c.unread || ok && def.Text != k.src) {
		k.c.callers[k.u.Text.Name] = true
	}
	if !ok && k.c.unread {
		return
	}
	if !ok {
		known := sorted(k.u.helpers)
		if k.src == k.u.Text {
			known = append(known, sorted(k.u.own)...)
		}
		nearest := Nearest(name, known)
		message := fmt.Sprintf("no define block named %q%s", name, DidYouMean(nearest))
		if nearest != "" {
			nearest = strconv.Quote(nearest)
		}
		k.unknown(finding.UnknownDefinition, at, "", nearest, message)
		return
	}
	k.template(def, root)
}

// discarded reports {{ $_ := set … }}, which changes nothing here.
func (k *checker) discarded(pipe *parse.PipeNode) {
	if len(pipe.Decl) != 1 || pipe.Decl[0].Ident[0] != "$_" {
		return
	}
	last := pipe.Cmds[len(pipe.Cmds)-1]
	if f, ok := last.Args[0].(*parse.IdentifierNode); ok && slices.Contains(copying, f.Ident) {
		k.errorf(finding.DiscardedCopy, f, "%s does not change its argument but returns a changed copy; write $x = %s $x …", f.Ident, f.Ident)
	}
}

// copying are the functions that change their argument in sprig.
var copying = []string{"set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"}

func (k *checker) pipe(pipe *parse.PipeNode, s scope) {
	if s.parentheses++; s.parentheses > maxNesting {
		k.errorf(finding.TooMuch, pipe, "parentheses are nested more than %d deep", maxNesting)
		return
	}
	for i, cmd := range pipe.Cmds {
		if k.c.done() {
			return
		}
		k.command(cmd, i > 0, s)
	}
}

// command checks a stage of a pipeline; piped tells whether a stage precedes.
func (k *checker) command(cmd *parse.CommandNode, piped bool, s scope) {
	args := len(cmd.Args) - 1
	if piped {
		args++
	}
	rest := cmd.Args[1:]
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		k.function(name, args)
		if k.include(cmd, piped, s) {
			rest = nil
		}
	} else {
		if _, isNil := cmd.Args[0].(*parse.NilNode); isNil {
			k.errorf(finding.NotAFunction, cmd, "nil is not a command")
		}
		if args > 0 {
			k.errorf(finding.NotAFunction, cmd, "%s is not a function, so it cannot be given arguments", Excerpt(cmd.Args[0]))
		}
		k.operand(cmd.Args[0], s)
	}
	for _, arg := range rest {
		if k.c.done() {
			return
		}
		k.operand(arg, s)
	}
}

// include checks the template that an include names, if it is a constant, and reports whether the root is handed
// on to it.
func (k *checker) include(cmd *parse.CommandNode, piped bool, s scope) bool {
	if cmd.Args[0].(*parse.IdentifierNode).Ident != "include" || len(cmd.Args) < 2 {
		return false
	}
	name, ok := cmd.Args[1].(*parse.StringNode)
	if !ok {
		return false
	}
	root := !piped && len(cmd.Args) == 3 && rootOperand(cmd.Args[2], s)
	k.call(name, name.Text, root)
	return root
}

// NoLogs says what templates lack that ask for logs.
const NoLogs = "no entry of spec.related has logs; set logs in the entry that selects the Pod"

// function checks that a function is there and takes so many arguments.
func (k *checker) function(name *parse.IdentifierNode, args int) {
	if f, ok := k.c.src.Functions[name.Ident]; ok {
		if err := f.Arity(args); err != nil {
			k.errorf(finding.ArgumentCount, name, "%s", err)
		}
		if name.Ident == "logs" && !k.c.src.Logs {
			k.errorf(finding.NoLogs, name, "logs: %s", NoLogs)
		}
		return
	}
	if f, ok := refused[name.Ident]; ok {
		k.errorf(finding.RefusedFunction, name, "unsupported function %s: %s", name.Ident, f.Refused)
		return
	}
	nearest := Nearest(name.Ident, sorted(k.c.src.Functions))
	k.unknown(finding.UnknownFunction, name, name.Ident, nearest, fmt.Sprintf("unknown function %s%s", Excerpt(name), DidYouMean(nearest)))
}

func (k *checker) operand(n parse.Node, s scope) {
	switch n := n.(type) {
	case *parse.DotNode:
		if s.dot {
			k.reads(nil)
		}
	case *parse.FieldNode:
		if s.dot {
			k.reads(n.Ident)
			k.path(n, "", n.Ident)
		}
	case *parse.VariableNode:
		if s.dollar && n.Ident[0] == "$" {
			k.reads(n.Ident[1:])
			k.path(n, "$", n.Ident[1:])
		}
	case *parse.ChainNode:
		k.operand(n.Node, s)
	case *parse.PipeNode:
		k.pipe(n, s)
	case *parse.IdentifierNode:
		k.function(n, 0)
	case *parse.NumberNode:
		if !n.IsInt && (!n.IsFloat || n.IsUint) {
			k.errorf(finding.NumberTooLarge, n, "the number %s does not fit in 64 bits", Excerpt(n))
		}
	}
}

// path checks keys from the root of the data on, which stands before them.
func (k *checker) path(n parse.Node, before string, keys []string) {
	if len(keys) == 0 {
		return
	}
	root, written := RootKeys(k.u.Purpose), before+"."+keys[0]
	err := root.Check(keys[0])
	if err == nil && len(keys) > 1 {
		written += "." + keys[1]
		switch keys[0] {
		case "children", "observed":
			err = (&Keys{Prefix: "." + keys[0] + ".", Names: k.c.names}).Check(keys[1])
		case "related":
			err = (&Keys{Prefix: ".related.", Names: k.c.related}).Check(keys[1])
		case "controller":
			controller := ControllerKeys()
			err = controller.Check(keys[1])
		}
	}
	if err == nil {
		return
	}
	replacement := ""
	if known, ok := errors.AsType[*KeyError](err); ok && known.Nearest != "" {
		replacement = before + known.Nearest
	}
	k.unknown(finding.UnknownRoot, n, written, replacement, strings.TrimSpace(err.Error()))
}
