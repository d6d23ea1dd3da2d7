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

// checker checks the templates of a unit for errors that do not depend on data.
type checker struct {
	c *compiler
	u *Unit
	// src is the text of the current template, and at is its check.
	src *Text
	at  visit
}

// Reads says which of the data that changes with their own output the templates read.
type Reads struct {
	// Status reports whether any template reads the parent's status.
	Status bool
	// Children reports whether a child template reads live children. The status template and readyWhen do not count.
	Children bool
}

// reads records that the templates of a unit read a path from the root; without keys, they read the whole root.
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

// visit identifies a check of a definition, which is done only once. Checks of helpers are shared by all child templates, so that the
// total work is linear.
type visit struct {
	tree    *parse.Tree
	root    bool
	purpose Purpose
}

// scope describes dot at a place in a template.
type scope struct {
	dot, dollar bool // whether . and $ are the root of the data
	blocks      int  // number of enclosing blocks
	parentheses int
}

// check adds the findings of a unit and of the helpers that it calls.
func (c *compiler) check(u *Unit) {
	k := &checker{c: c, u: u}
	for _, name := range sorted(u.own) {
		k.template(u.own[name], name == "")
	}
}

// checkHelpers adds the findings in helpers that do not depend on the caller.
func (c *compiler) checkHelpers(helpers map[string]Definition) {
	k := &checker{c: c, u: &Unit{helpers: helpers}}
	for _, name := range sorted(helpers) {
		k.template(helpers[name], false)
	}
}

// template checks a definition once for each kind of dot. Errors that do not depend on dot are found in any case.
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

// errorf adds an error about the operand that a node begins with.
func (k *checker) errorf(code finding.Code, n parse.Node, format string, args ...any) {
	k.c.add(k.src.broken(code, Start(n), fmt.Sprintf(format, args...)))
}

// unknown adds an error about an unknown name, with the known name that was probably meant.
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
		k.pipe(n.Pipe, s) // in the body, dot is a value of the root, never the root
		k.branch(&n.BranchNode, s, false)
	case *parse.TemplateNode:
		k.call(n, n.Name, n.Pipe != nil && isRoot(n.Pipe, s))
		if n.Pipe != nil {
			k.handOn(n.Pipe, s)
		}
	}
}

// branch checks a block that sets dot.
func (k *checker) branch(n *parse.BranchNode, s scope, dotIsRoot bool) {
	inner := s
	inner.dot = dotIsRoot
	k.list(n.List, inner)
	k.list(n.ElseList, s)
}

// handOn checks a pipeline that becomes the dot of another scope. If it is just the root, what is read of the root is recorded in that
// scope.
func (k *checker) handOn(pipe *parse.PipeNode, s scope) {
	if len(pipe.Decl) > 0 || !isRoot(pipe, s) {
		k.pipe(pipe, s)
	}
}

// isRoot reports whether a pipeline is just . or $, and that is the root.
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

// call checks that a template exists, and checks it. Helpers can only call helpers, because all templates share them.
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

// discarded reports {{ $_ := set … }}, which has no effect here.
func (k *checker) discarded(pipe *parse.PipeNode) {
	if len(pipe.Decl) != 1 || pipe.Decl[0].Ident[0] != "$_" {
		return
	}
	last := pipe.Cmds[len(pipe.Cmds)-1]
	if f, ok := last.Args[0].(*parse.IdentifierNode); ok && slices.Contains(copying, f.Ident) {
		k.errorf(finding.DiscardedCopy, f, "%s does not modify its argument, it returns a modified copy; write $x = %s $x …", f.Ident, f.Ident)
	}
}

// copying are the functions that modify their argument in sprig, but return a modified copy here.
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

// command checks one command of a pipeline; piped reports whether another command precedes it.
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

// include checks the template that an include names, if it is a constant, and reports whether the root is passed to it.
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

// NoLogs is the message for templates that call the function logs without an entry of spec.related that has logs.
const NoLogs = "no entry of spec.related has logs; set logs in the entry that selects the Pod"

// function checks that a function exists and accepts this number of arguments.
func (k *checker) function(name *parse.IdentifierNode, args int) {
	if f, ok := k.c.src.Functions[name.Ident]; ok {
		if err := f.Arity(args); err != nil {
			k.errorf(finding.ArgumentCount, name, "%s", err)
		}
		if name.Ident == "logs" && !k.c.src.Logs {
			k.errorf(finding.NoLogs, name, "logs: %s", NoLogs)
		}
		if p := k.u.Purpose; name.Ident == "after" && p != ForChild && p != ForStatus && p != ForReadyWhen {
			k.errorf(finding.RefusedFunction, name, "unsupported function after: spec.watch.filter and select are evaluated when objects change, not at a given time; use after in a child template, in readyWhen or in the status template")
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

// path checks keys of a path that begins at the root of the data.
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
