package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// foreign are the types of Kubernetes, and how a reader knows them. They have no table.
var foreign = map[string]string{
	"metav1.ObjectMeta":    "[metadata](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/)",
	"metav1.LabelSelector": "[label selector](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/)",
	"metav1.Condition":     "[conditions](https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties)",
	"metav1.Time":          "time",
	"apiextensionsv1.JSON": "mapping",
	"intstr.IntOrString":   "integer or string",
	"string":               "string",
	"bool":                 "boolean",
	"int64":                "integer",
}

// A writer makes a page of a source.
type writer struct {
	source
	out bytes.Buffer
	err error // the last one
}

// page returns the reference of a kind. It fails on a type that has neither a table nor a name for readers.
func (s source) page(kind string) ([]byte, error) {
	w := &writer{source: s}
	root, ok := s[kind]
	if !ok {
		return nil, fmt.Errorf("there is no type %s", kind)
	}
	shape, ok := root.expr.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s is no struct", kind)
	}
	w.printf("<!-- Written by make generate from the comments in api/v1. Edit those. -->\n\n# API reference\n\nFor authors: every field of a TemplateController, its default and its bounds.\n\n")
	w.printf("`templater.dev/v1`, kind `%s`, short name `tc`, cluster-scoped. %s\n\n", kind, root.text)
	w.printf("`kubectl explain templatecontroller.spec --recursive` lists the same fields. What they do together is told in\n")
	w.printf("[What templater does, and when](../concepts/reconciling.md), and [Limits](limits.md) has all bounds in one place.\n")
	if columns := root.columns(); len(columns) > 0 {
		w.printf("\n`kubectl get templatecontrollers` shows:\n\n| Column | From |\n|---|---|\n")
		for _, c := range columns {
			w.printf("| %s%s | `%s` |\n", c.name, map[bool]string{true: " (`-o wide`)"}[c.wide], c.path)
		}
	}
	w.refused(root.refusals())
	for _, f := range fields(shape) {
		w.section(f.name, f.expr, f.text+"\n\n")
	}
	return w.out.Bytes(), w.err
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

// section writes the table of a struct of ours below a text, and then those of the structs in it.
func (w *writer) section(path string, expr ast.Expr, text string) {
	path, name := within(path, expr)
	def, ok := w.source[name]
	shape, isStruct := def.expr.(*ast.StructType)
	if !ok || !isStruct {
		return
	}
	w.printf("\n## %s\n\n%s| Field | Type | What it is |\n|---|---|---|\n", path, text)
	all, refusals := fields(shape), def.refusals()
	for _, f := range all {
		w.printf("| `%s` | %s | %s |\n", f.name, cell(w.typeOf(path, f)), cell(f.text))
		refusals = append(refusals, f.refusals()...)
	}
	w.refused(refusals)
	for _, f := range all {
		w.section(path+"."+f.name, f.expr, "") // which the table above has
	}
}

// refused tells what the API server says to what it refuses beside types and bounds.
func (w *writer) refused(messages []string) {
	if len(messages) == 0 {
		return
	}
	w.printf("\nThe API server refuses what breaks one of these rules:\n\n")
	for _, message := range messages {
		w.printf("* %s\n", message)
	}
}

// typeOf returns how a reader knows the type of a field.
func (w *writer) typeOf(path string, f field) string {
	name := nameOf(f.expr)
	prefix := ""
	if _, list := f.expr.(*ast.ArrayType); list {
		prefix = "list of "
	}
	if word, ok := foreign[name]; ok {
		if prefix != "" && name == "string" {
			word = "strings"
		}
		return prefix + word
	}
	def, ok := w.source[name]
	if choices := def.choices(); choices != nil {
		return "`" + strings.Join(choices, "` or `") + "`"
	}
	if _, isStruct := def.expr.(*ast.StructType); !ok || !isStruct {
		w.err = fmt.Errorf("%s.%s has type %s, which the reference does not know", path, f.name, name)
		return ""
	}
	at, _ := within(path+"."+f.name, f.expr)
	return fmt.Sprintf("%s[%s](#%s)", prefix, at, anchor(at))
}

// within returns the path of what a field holds, and the name of its type.
func within(path string, expr ast.Expr) (at, name string) {
	if _, list := expr.(*ast.ArrayType); list {
		path += "[]"
	}
	return path, nameOf(expr)
}

// nameOf returns the name of a type, of a pointer to it or of a list of it.
func nameOf(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.ArrayType:
		return nameOf(e.Elt)
	}
	return types.ExprString(expr)
}

// anchor returns what GitHub makes of a heading.
func anchor(heading string) string {
	return strings.ToLower(strings.NewReplacer(".", "", "[", "", "]", "").Replace(heading))
}

// cell makes text fit for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
