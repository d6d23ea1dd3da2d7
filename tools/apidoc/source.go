package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A source has the types of a package by their names.
type source map[string]definition

// A definition is a type and what its comment says.
type definition struct {
	comment
	expr ast.Expr
}

// A comment is text for readers and markers (+kubebuilder:…) for controller-gen.
type comment struct {
	text    string
	markers []string
}

// read parses the files of a folder, without its tests.
func read(folder string) (source, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	out := source{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			out.add(decl)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no types", folder)
	}
	return out, nil
}

func (s source) add(decl ast.Decl) {
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.TYPE {
		return
	}
	for _, spec := range group.Specs {
		one := spec.(*ast.TypeSpec)
		s[one.Name.Name] = definition{comment: commentOf(group.Doc), expr: one.Type}
	}
}

// commentOf divides a comment. A nil group is an empty comment.
func commentOf(group *ast.CommentGroup) comment {
	var c comment
	var words []string
	for line := range strings.Lines(group.Text()) {
		line = strings.TrimSpace(line)
		if marker, ok := strings.CutPrefix(line, "+"); ok {
			c.markers = append(c.markers, marker)
		} else {
			words = append(words, strings.Fields(line)...)
		}
	}
	c.text = strings.Join(words, " ")
	return c
}

var ruleMessage = regexp.MustCompile(`XValidation:.*,message="((?:[^"\\]|\\.)*)"`)

// refusals returns the messages of the rules that the API server checks.
func (c comment) refusals() []string {
	var out []string
	for _, marker := range c.markers {
		if m := ruleMessage.FindStringSubmatch(marker); m != nil {
			out = append(out, strings.ReplaceAll(m[1], `\"`, `"`))
		}
	}
	return out
}

// choices returns the values of an enumeration, or nil.
func (c comment) choices() []string {
	for _, marker := range c.markers {
		if values, ok := strings.CutPrefix(marker, "kubebuilder:validation:Enum="); ok {
			return strings.Split(values, ";")
		}
	}
	return nil
}

var columnMarker = regexp.MustCompile("printcolumn:name=\"([^\"]+)\".*JSONPath=`([^`]+)`(.*priority=1)?")

// A column is one of kubectl get.
type column struct {
	name, path string
	wide       bool // only with -o wide
}

func (c comment) columns() []column {
	var out []column
	for _, marker := range c.markers {
		if m := columnMarker.FindStringSubmatch(marker); m != nil {
			out = append(out, column{name: strings.ToUpper(m[1]), path: m[2], wide: m[3] != ""})
		}
	}
	return out
}

// A field is one of a struct, under its name in YAML.
type field struct {
	comment
	name string
	expr ast.Expr
}

// fields returns those of a struct that have a name in YAML.
func fields(s *ast.StructType) []field {
	var out []field
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		name := jsonName(f.Tag.Value)
		if name != "" && name != "-" {
			out = append(out, field{comment: commentOf(f.Doc), name: name, expr: f.Type})
		}
	}
	return slices.Clip(out)
}

var jsonTag = regexp.MustCompile(`json:"([^",]*)`)

func jsonName(tag string) string {
	if m := jsonTag.FindStringSubmatch(tag); m != nil {
		return m[1]
	}
	return ""
}
