package scaffold

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// scope resolves the identifiers of a CEL expression.
type scope struct {
	root  string   // of the parent: "" or "$"
	self  string   // the id that means .object
	loops []string // variables of forEach
}

// expression converts a CEL expression to the expression of an action. An unsupported one is replaced with a call of fail, and reported as a note.
func (g *graph) expression(where, text string) string {
	parsed, err := parse(text)
	if err == nil {
		var out string
		if out, err = g.convert(parsed); err == nil {
			return unwrapped(out)
		}
	}
	g.note(where, "cannot convert CEL expression %q: %v; rewrite it as a template expression", text, err)
	return "fail " + strconv.Quote("TODO: convert CEL expression: "+text)
}

// segments converts an expression in a string: a concatenation becomes text and actions.
func (g *graph) segments(where, text string) (out []string) {
	if parsed, err := parse(text); err == nil {
		if parts := concatenated(parsed); parts != nil {
			for _, part := range parts {
				literal, isText := literalText(part)
				converted, err := g.convert(part)
				switch {
				case isText:
					out = append(out, literal)
				case err != nil:
					return []string{g.token(action(g.expression(where, text)))}
				default:
					out = append(out, g.token(action(unwrapped(converted))))
				}
			}
			return out
		}
	}
	return []string{g.token(action(g.expression(where, text)))}
}

func action(expression string) string { return "{{ " + expression + " }}" }

func parse(text string) (ast.Expr, error) {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true)) // without macros: their calls remain
	if err != nil {
		return nil, err
	}
	parsed, errs := p.Parse(common.NewTextSource(text))
	if len(errs.GetErrors()) > 0 {
		return nil, fmt.Errorf("%s", errs.GetErrors()[0].Message)
	}
	return parsed.Expr(), nil
}

// concatenated returns the operands of a + b + c if one of them is a text, or nil.
func concatenated(e ast.Expr) (parts []ast.Expr) {
	var flatten func(e ast.Expr)
	flatten = func(e ast.Expr) {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Add {
			flatten(e.AsCall().Args()[0])
			flatten(e.AsCall().Args()[1])
			return
		}
		parts = append(parts, e)
	}
	flatten(e)
	if len(parts) < 2 || !slices.ContainsFunc(parts, func(e ast.Expr) bool { _, is := literalText(e); return is }) {
		return nil
	}
	return parts
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, is := e.AsLiteral().(types.String)
	return string(text), is
}

// calls are the functions with an equivalent: a format for the operands; those of methods begin with the receiver.
var calls = map[string]string{
	operators.Equals: "(eq %s %s)", operators.NotEquals: "(ne %s %s)", operators.Less: "(lt %s %s)", operators.LessEquals: "(le %s %s)",
	operators.Greater: "(gt %s %s)", operators.GreaterEquals: "(ge %s %s)", operators.LogicalAnd: "(and %s %s)", operators.LogicalOr: "(or %s %s)",
	operators.LogicalNot: "(not %s)", operators.Conditional: "(ternary %[2]s %[3]s %[1]s)", operators.Index: "(index %s %s)", operators.In: "(has %s %s)",
	operators.Add: "(add %s %s)", operators.Subtract: "(sub %s %s)", operators.Multiply: "(mul %s %s)", operators.Divide: "(div %s %s)", operators.Modulo: "(mod %s %s)",
	"size": "(len %s)", "string": "(toString %s)", "int": "(int64 %s)",
	".contains": "(contains %[2]s %[1]s)", ".startsWith": "(hasPrefix %[2]s %[1]s)", ".endsWith": "(hasSuffix %[2]s %[1]s)", ".size": "(len %s)",
	".lowerAscii": "(lower %s)", ".upperAscii": "(upper %s)", ".trim": "(trim %s)", ".replace": "(replace %[2]s %[3]s %[1]s)", ".split": "(splitList %[2]s %[1]s)",
	".join": "(join %[2]s %[1]s)", ".orValue": "(default %[2]s %[1]s)",
}

var operandsOf = regexp.MustCompile(`%(\[\d\])?s`)

// convert returns the operand for an expression: a field, a literal, or a call in parentheses.
func (g *graph) convert(e ast.Expr) (string, error) {
	switch e.Kind() {
	case ast.IdentKind:
		return g.identifier(e.AsIdent())
	case ast.LiteralKind:
		return literalOf(e)
	case ast.SelectKind:
		of, err := g.convert(e.AsSelect().Operand())
		if of == "." || of == "$." {
			of = strings.TrimSuffix(of, ".")
		}
		return of + "." + e.AsSelect().FieldName(), err
	case ast.CallKind:
		return g.call(e.AsCall())
	case ast.ListKind:
		items, err := g.converted(e.AsList().Elements())
		return strings.TrimSuffix("(list "+strings.Join(items, " "), " ") + ")", err
	case ast.UnspecifiedExprKind, ast.ComprehensionKind, ast.MapKind, ast.StructKind:
	}
	return "", errors.New("unsupported expression")
}

func (g *graph) converted(all []ast.Expr) (out []string, err error) {
	for _, e := range all {
		text, err := g.convert(e)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func (g *graph) call(c ast.CallExpr) (string, error) {
	name, operands := c.FunctionName(), c.Args()
	switch {
	case name == "has" && len(operands) == 1 && operands[0].Kind() == ast.SelectKind:
		of, err := g.convert(operands[0].AsSelect().Operand())
		return fmt.Sprintf("(hasKey %s %q)", of, operands[0].AsSelect().FieldName()), err
	case name == operators.OptSelect && len(operands) == 2:
		of, err := g.convert(operands[0])
		field, _ := literalText(operands[1])
		return of + "." + field, err
	case c.IsMemberFunction():
		name, operands = "."+name, append([]ast.Expr{c.Target()}, operands...)
	}
	format := calls[name]
	if format == "" || len(operandsOf.FindAllString(format, -1)) != len(operands) {
		return "", fmt.Errorf("function %s has no template equivalent", strings.TrimPrefix(name, "."))
	}
	if name == operators.Add {
		if e := concatenatedCall(c); e != nil {
			texts, err := g.converted(e)
			return `(printf "` + strings.Repeat("%v", len(texts)) + `" ` + strings.Join(texts, " ") + ")", err
		}
	}
	texts, err := g.converted(operands)
	if err != nil {
		return "", err
	}
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return fmt.Sprintf(format, values...), nil
}

// concatenatedCall is concatenated for a call.
func concatenatedCall(c ast.CallExpr) []ast.Expr {
	return concatenated(ast.NewExprFactory().NewCall(0, c.FunctionName(), c.Args()...))
}

func (g *graph) identifier(name string) (string, error) {
	isList, known := g.resources[name]
	switch {
	case slices.Contains(g.scope.loops, name):
		return "$" + name, nil
	case name == g.scope.self || name == "each" && g.scope.self != "":
		return ".object", nil
	case g.scope.self != "":
		return "", errors.New("readyWhen can reference only its own resource")
	case name == "schema":
		return g.scope.root + ".", nil
	case !known:
		return "", fmt.Errorf("unknown identifier %s", name)
	}
	list := g.scope.root + ".children." + name
	if g.related[name] {
		list = g.scope.root + ".related." + name
	}
	if isList {
		return list, nil
	}
	return "(first " + list + ")", nil
}

func literalOf(e ast.Expr) (string, error) {
	switch value := e.AsLiteral().(type) {
	case types.String:
		return strconv.Quote(string(value)), nil
	case types.Int:
		return strconv.FormatInt(int64(value), 10), nil
	case types.Bool:
		return strconv.FormatBool(bool(value)), nil
	case types.Double:
		return strconv.FormatFloat(float64(value), 'g', -1, 64), nil
	case types.Null:
		return "nil", nil
	}
	return "", errors.New("unsupported literal")
}

// unwrapped removes the parentheses around a call.
func unwrapped(text string) string {
	inside, found := strings.CutPrefix(text, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	if !found || !closed {
		return text
	}
	depth := 0
	for _, r := range inside {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			return text
		}
	}
	return inside
}
