package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// mutant is one small change to the code, which some test should notice.
type mutant struct {
	id       int
	file     string // relative to the module
	line     int
	function string
	change   string // what is done, with the code that it is done to
}

// name tells the mutant from others, also when lines move.
func (m mutant) name() string { return m.file + ": " + m.function + ": " + m.change }

// rewriter puts all mutants of a file into its text, each behind a call of mutantIs, so that one
// binary holds them all.
type rewriter struct {
	file     string
	text     []byte
	fset     *token.FileSet
	next     int // number of the next mutant
	function string
	mutants  []mutant
	inserts  []insert
}

// insert is text to put at a place. Of those that end at one place, what was opened last ends first.
type insert struct {
	at, order int
	closes    bool
	text      string
}

// rewrite returns the text of a file with its mutants, which are numbered from first. It stays as long as it is,
// in lines.
func rewrite(file string, text []byte, first int) ([]byte, []mutant, error) {
	r := &rewriter{file: file, text: text, fset: token.NewFileSet(), next: first}
	parsed, err := parser.ParseFile(r.fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			r.function = nameOf(f)
			ast.Inspect(f.Body, r.visit)
		}
	}
	return r.result(), r.mutants, nil
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	switch generic := receiver.(type) {
	case *ast.IndexExpr:
		receiver = generic.X
	case *ast.IndexListExpr:
		receiver = generic.X
	}
	return fmt.Sprint(receiver) + "." + f.Name.Name
}

func (r *rewriter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		r.negate(n.Cond)
		if n.Else == nil {
			r.leave(n.Body.List)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			r.cases(n)
		}
	case *ast.BinaryExpr:
		r.binary(n)
	case *ast.ReturnStmt:
		r.results(n.Results)
	case *ast.BlockStmt:
		r.statements(n.List)
	case *ast.CaseClause:
		r.statements(n.Body)
	case *ast.CommClause:
		r.statements(n.Body)
	}
	return true
}

func (r *rewriter) cases(s *ast.SwitchStmt) {
	for _, each := range s.Body.List {
		for _, condition := range each.(*ast.CaseClause).List { //nolint:forcetypeassert // a switch holds nothing else
			r.negate(condition)
		}
	}
}

// negate turns a condition round.
func (r *rewriter) negate(condition ast.Expr) {
	n := r.add(condition, "negate")
	r.wrap(condition, "((", fmt.Sprintf(") != mutantIs(%d))", n))
}

// results turns those round that count: nobody looks at what comes with an error.
func (r *rewriter) results(all []ast.Expr) {
	if len(all) > 1 && strings.Contains(strings.ToLower(r.source(all[len(all)-1])), "err") {
		return
	}
	for _, result := range all {
		r.flip(result)
	}
}

// flip turns a result of true or false round.
func (r *rewriter) flip(result ast.Expr) {
	if id, ok := result.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
		n := r.add(result, "return the opposite of")
		r.wrap(result, "(", fmt.Sprintf(" != mutantIs(%d))", n))
	}
}

func (r *rewriter) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		r.operand(e, e.X)
		r.operand(e, e.Y)
	case token.LSS, token.GTR, token.LEQ, token.GEQ:
		r.bound(e)
	default: // nothing that could be decided otherwise
	}
}

// operand leaves an operand of && or || out.
func (r *rewriter) operand(e *ast.BinaryExpr, operand ast.Expr) {
	if inner, ok := operand.(*ast.BinaryExpr); ok && inner.Op == e.Op {
		return // its own operands are left out one by one
	}
	n := r.add(operand, "leave out, of "+e.Op.String()+",")
	if e.Op == token.LAND {
		r.wrap(operand, "(", fmt.Sprintf(" || mutantIs(%d))", n))
	} else {
		r.wrap(operand, "(", fmt.Sprintf(" && !mutantIs(%d))", n))
	}
}

// bound moves a bound by one, so to say: what is equal is on the other side of it.
func (r *rewriter) bound(e *ast.BinaryExpr) {
	x, y := r.source(e.X), r.source(e.Y)
	if strings.Contains(x+y, "\n") {
		return
	}
	n := r.add(e, "move the bound of")
	equal := fmt.Sprintf("mutantIs(%d) && (%s) == (%s)", n, x, y)
	if e.Op == token.LSS || e.Op == token.GTR {
		r.wrap(e, "(", " || "+equal+")")
	} else {
		r.wrap(e, "(", " && !("+equal+"))")
	}
}

// leave goes on where a function, or a round of a loop, would end early. Since the if has no else, the code
// compiles without.
func (r *rewriter) leave(body []ast.Stmt) {
	if len(body) == 0 {
		return
	}
	switch last := body[len(body)-1].(type) {
	case *ast.ReturnStmt:
		r.omit(last)
	case *ast.BranchStmt:
		if last.Tok == token.CONTINUE || last.Tok == token.BREAK {
			r.omit(last)
		}
	}
}

// statements leaves calls and assignments out.
func (r *rewriter) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && !r.exempt(call) {
				r.omit(s)
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && r.source(s.Lhs[0]) != "_" {
				r.omit(s)
			}
		case *ast.IncDecStmt:
			r.omit(s)
		}
	}
}

// exempt reports whether a call is of no consequence for tests (logs), or ends what the compiler wants to see ended.
func (r *rewriter) exempt(call *ast.CallExpr) bool {
	text := r.source(call.Fun)
	return text == "panic" || strings.HasPrefix(text, "klog.") || strings.HasPrefix(text, "log.")
}

func (r *rewriter) omit(s ast.Stmt) {
	n := r.add(s, "leave out")
	r.wrap(s, fmt.Sprintf("if !mutantIs(%d) { ", n), " }")
}

func (r *rewriter) add(n ast.Node, what string) int {
	id := r.next
	r.next++
	text := strings.Join(strings.Fields(r.source(n)), " ")
	if runes := []rune(text); len(runes) > 90 {
		text = string(runes[:90]) + "…"
	}
	r.mutants = append(r.mutants, mutant{
		id: id, file: r.file, line: r.fset.Position(n.Pos()).Line, function: r.function, change: what + " " + text,
	})
	return id
}

func (r *rewriter) wrap(n ast.Node, before, after string) {
	from, to := r.offset(n.Pos()), r.offset(n.End())
	r.inserts = append(r.inserts, insert{at: from, order: r.next, text: before}, insert{at: to, order: -r.next, closes: true, text: after})
}

func (r *rewriter) offset(p token.Pos) int { return r.fset.Position(p).Offset }

func (r *rewriter) source(n ast.Node) string {
	return string(r.text[r.offset(n.Pos()):r.offset(n.End())])
}

func (r *rewriter) result() []byte {
	slices.SortStableFunc(r.inserts, func(a, b insert) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		if a.closes != b.closes {
			if a.closes {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.order, b.order)
	})
	var out []byte
	last := 0
	for _, each := range r.inserts {
		out = append(append(out, r.text[last:each.at]...), each.text...)
		last = each.at
	}
	return append(out, r.text[last:]...)
}
