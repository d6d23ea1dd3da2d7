package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// enumsFile contains the enums that servers publish, and that the OpenAPI documents of a release lack.
var enumsFile = filepath.Join("pkg", "generated", "openapi", "zz_generated.openapi.go")

// The functions of that file are named after the types whose schema they return, but with other prefixes than in the
// documents.
var generated = [...]struct{ function, definition string }{
	{"schema_k8sio_api_", "io.k8s.api."},
	{"schema_pkg_apis_apiextensions_", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."},
}

// described returns the definition of the type that a function describes, or nil.
func (d *document) described(function string) *definition {
	for _, each := range generated {
		if rest, ok := strings.CutPrefix(function, each.function); ok {
			return d.Components.Schemas[each.definition+strings.ReplaceAll(rest, "_", ".")]
		}
	}
	return nil
}

// addEnums adds the enums of a generated file.
func (d *document) addEnums(file string) error {
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	added := 0
	for _, each := range source.Decls {
		f, ok := each.(*ast.FuncDecl)
		if !ok {
			continue
		}
		s := d.described(f.Name.Name)
		if s == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			props, _ := n.(*ast.CompositeLit)
			if member(props, "Properties") == nil {
				return true
			}
			added += addEnums(&s.JSONSchemaProps, props)
			return false
		})
	}
	if added == 0 {
		return errors.New("there are no enums")
	}
	return nil
}

// addEnums adds the enums of a spec.SchemaProps to a schema of the same type, and returns how many. Either may be nil.
func addEnums(s *apiextensionsv1.JSONSchemaProps, props *ast.CompositeLit) int {
	if s == nil || props == nil {
		return 0
	}
	added := 0
	if values := member(props, "Enum"); values != nil {
		added++
		s.Enum = nil
		for _, each := range values.Elts {
			if value, ok := each.(*ast.BasicLit); ok && value.Kind == token.STRING {
				s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(value.Value)})
			}
		}
	}
	if s.Items != nil {
		added += addEnums(s.Items.Schema, member(member(member(props, "Items"), "Schema"), "SchemaProps"))
	}
	if s.AdditionalProperties != nil {
		added += addEnums(s.AdditionalProperties.Schema, member(member(member(props, "AdditionalProperties"), "Schema"), "SchemaProps"))
	}
	return added + addEnumsOfFields(s, member(props, "Properties"))
}

func addEnumsOfFields(s *apiextensionsv1.JSONSchemaProps, properties *ast.CompositeLit) int {
	if properties == nil {
		return 0
	}
	added := 0
	for _, each := range properties.Elts {
		pair, ok := each.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := pair.Key.(*ast.BasicLit)
		value, _ := pair.Value.(*ast.CompositeLit)
		inner := member(value, "SchemaProps")
		if key == nil || inner == nil {
			continue
		}
		name, _ := strconv.Unquote(key.Value)
		if p, has := s.Properties[name]; has {
			added += addEnums(&p, inner)
			s.Properties[name] = p
		}
	}
	return added
}

// member returns the named field of a literal if it is a literal, or a pointer to one, else nil.
func member(literal *ast.CompositeLit, name string) *ast.CompositeLit {
	if literal == nil {
		return nil
	}
	for _, each := range literal.Elts {
		pair, ok := each.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != name {
			continue
		}
		value := pair.Value
		if pointer, ok := value.(*ast.UnaryExpr); ok {
			value = pointer.X
		}
		found, _ := value.(*ast.CompositeLit)
		return found
	}
	return nil
}
