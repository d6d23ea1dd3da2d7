package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// FromRGD converts a ResourceGraphDefinition of kro. CEL expressions become actions. Unsupported expressions are replaced with an action that
// fails, and are reported as notes. separate: see NewKind. The format is described at https://kro.run/docs/concepts/rgd/overview.
func FromRGD(definition *manifest.Object, separate bool) (*Result, error) {
	spec := mapOf(definition.Content["spec"])
	about, resources := mapOf(spec["schema"]), listOf(spec["resources"])
	gvk := schema.GroupVersionKind{Group: cmp.Or(textOf(about["group"]), "kro.run"), Version: textOf(about["apiVersion"]), Kind: textOf(about["kind"])}
	if group, version, found := strings.Cut(gvk.Version, "/"); found {
		gvk.Group, gvk.Version = group, version
	}
	if gvk.Kind == "" || gvk.Version == "" {
		return nil, errors.New("spec.schema.apiVersion and spec.schema.kind are required")
	}
	g := &graph{file: definition.File, line: definition.Line, resources: map[string]bool{}}
	g.known(resources)
	c := Controller{Name: kind.Plural(gvk.Kind), GVK: gvk, Comment: fmt.Sprintf("Generated from ResourceGraphDefinition %s.", textOf(metadataOf(definition.Content)["name"]))}
	for _, one := range resources {
		g.resource(&c, mapOf(one))
	}
	status := mapOf(about["status"])
	if len(status) > 0 {
		c.Status = g.text("spec.schema.status", status)
	}
	c.CRD = g.crd(about, status)
	out, err := result(&c, exampleOf(mapOf(about["spec"])), separate)
	if err != nil {
		return nil, err
	}
	out.Notes = g.notes
	return out, nil
}

// graph converts the resources of a ResourceGraphDefinition.
type graph struct {
	file      string
	line      int
	resources map[string]bool // by id: whether it is a list
	related   map[string]bool // the ids of externalRef
	notes     []Note
	scope     scope
	actions
}

func textOf(v any) string                              { text, _ := v.(string); return text }
func mapOf(v any) map[string]any                       { m, _ := v.(map[string]any); return m }
func listOf(v any) []any                               { list, _ := v.([]any); return list }
func metadataOf(content map[string]any) map[string]any { return mapOf(content["metadata"]) }

func (g *graph) note(where, format string, args ...any) {
	g.notes = append(g.notes, Note{g.file, g.line, where + ": " + fmt.Sprintf(format, args...)})
}

// known records the ids of all resources.
func (g *graph) known(resources []any) {
	g.related = map[string]bool{}
	for _, one := range resources {
		of := mapOf(one)
		id := textOf(of["id"])
		external := mapOf(of["externalRef"])
		g.resources[id] = len(listOf(of["forEach"])) > 0 || metadataOf(external)["selector"] != nil
		g.related[id] = external != nil
	}
}

// resource converts one resource.
func (g *graph) resource(c *Controller, of map[string]any) {
	id := textOf(of["id"])
	where := "spec.resources[" + id + "]"
	for key := range of {
		if !slices.Contains([]string{"id", "template", "externalRef", "readyWhen", "includeWhen", "forEach"}, key) {
			g.note(where+"."+key, "unsupported field, ignored: convert it by hand")
		}
	}
	if external := mapOf(of["externalRef"]); external != nil {
		c.Related = append(c.Related, g.external(where, id, external, listOf(of["includeWhen"])))
		return
	}
	content := mapOf(of["template"])
	child := Child{Name: id, ReadyWhen: g.readyWhen(where, id, listOf(of["readyWhen"]))}
	before, after := "", ""
	g.scope = scope{}
	for _, each := range listOf(of["forEach"]) {
		for _, name := range slices.Sorted(maps.Keys(mapOf(each))) {
			list := g.expression(where+".forEach", inner(textOf(mapOf(each)[name])))
			g.scope.root = "$"
			g.scope.loops = append(g.scope.loops, name)
			before += "{{- range $" + name + " := " + list + " }}\n"
			after = "{{- end }}\n" + after
		}
	}
	if len(g.scope.loops) > 0 {
		before += "---\n"
	}
	if condition := g.all(where+".includeWhen", listOf(of["includeWhen"])); condition != "" {
		before, after = "{{- if "+condition+" }}\n"+before, after+"{{- end }}\n"
	}
	child.Template = before + g.text(where+".template", content) + after
	g.scope = scope{}
	builtIn, err := (kind.Declared{}).Resolve(schema.FromAPIVersionAndKind(textOf(content["apiVersion"]), textOf(content["kind"])))
	child.Cluster = err == nil && !builtIn.Namespaced
	c.Children = append(c.Children, child)
}

// external converts an externalRef.
func (g *graph) external(where, id string, external map[string]any, includeWhen []any) Related {
	metadata := metadataOf(external)
	out := Related{Name: id, APIVersion: textOf(external["apiVersion"]), Kind: textOf(external["kind"])}
	if len(includeWhen) > 0 {
		g.note(where+".includeWhen", "unsupported for an externalRef, ignored: the related object is always read; test the condition where templates use it")
	}
	selection := map[string]any{}
	if selector := mapOf(metadata["selector"]); selector != nil {
		selection["labelSelector"] = g.copied(where+".externalRef.metadata.selector", selector)
	}
	for _, key := range []string{"name", "namespace"} {
		if value := textOf(metadata[key]); value != "" {
			selection[key] = g.copied(where+".externalRef.metadata."+key, value)
		}
	}
	out.Select = g.print(marshal(selection))
	return out
}

// readyWhen returns the expression of readyWhen.
func (g *graph) readyWhen(where, id string, all []any) string {
	g.scope = scope{self: id}
	defer func() { g.scope = scope{} }()
	return g.all(where+".readyWhen", all)
}

// all joins expressions by and; "" = none.
func (g *graph) all(where string, all []any) string {
	var parts []string
	for _, one := range all {
		if text := g.expression(where, inner(textOf(one))); g.scope.self == "" || !strings.HasPrefix(text, "fail ") { // a readyWhen that fails would block others
			parts = append(parts, text)
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return "and (" + strings.Join(parts, ") (") + ")"
}

// inner returns the expression in ${…}, or the text itself.
func inner(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "${"), "}")
}

// text returns the template of an object.
func (g *graph) text(where string, content map[string]any) string {
	return g.manifest(mapOf(g.copied(where, content)))
}

// copied returns a copy of a value with tokens for its expressions.
func (g *graph) copied(where string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range value {
			out[key] = g.copied(where+"."+key, item)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = g.copied(fmt.Sprintf("%s[%d]", where, i), item)
		}
		return out
	case string:
		return g.string(where, value)
	}
	return value
}

// string converts the expressions in a string.
func (g *graph) string(where, text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if strings.Contains(before, "{{") {
			g.note(where, "the text contains {{, which starts a template action: set spec.delimiters")
		}
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := closing(rest)
		if end < 0 {
			g.note(where, "unterminated ${: add the closing }")
			return out.String()
		}
		for _, segment := range g.segments(where, rest[:end]) {
			out.WriteString(segment)
		}
		text = rest[end+1:]
	}
}

// closing returns the index of the } that closes an expression, or -1.
func closing(text string) int {
	depth, quote := 0, rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote && text[i-1] != '\\' {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{':
			depth++
		case r == '}' && depth == 0:
			return i
		case r == '}':
			depth--
		}
	}
	return -1
}

// crd returns spec.crd. kro infers the types of status fields from their expressions; here they are guesses.
func (g *graph) crd(about, status map[string]any) map[string]any {
	parts := map[string]any{"spec": map[string]any{}}
	for _, key := range []string{"spec", "types"} {
		if of := mapOf(about[key]); len(of) > 0 {
			parts[key] = of
		}
	}
	if len(status) > 0 {
		parts["status"] = typesOf(status)
		g.note("spec.schema.status", "the types in spec.crd.schema.status are inferred from the expressions: verify them")
	}
	out := map[string]any{"schema": parts}
	if scope := textOf(about["scope"]); scope == "Cluster" {
		out["scope"] = scope
	}
	var columns []any
	for _, one := range listOf(about["additionalPrinterColumns"]) {
		column := maps.Clone(mapOf(one))
		delete(column, "format")
		columns = append(columns, column)
	}
	if len(columns) > 0 {
		out["columns"] = columns
	}
	return out
}

// typesOf guesses the types of status fields by their expressions.
func typesOf(status map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range status {
		switch value := value.(type) {
		case map[string]any:
			out[name] = typesOf(value)
		case []any:
			out[name] = "[]string"
		default:
			out[name] = guessedType(inner(textOf(value)))
		}
	}
	return out
}

func guessedType(expression string) string {
	last := strings.ToLower(expression[strings.LastIndex(expression, ".")+1:])
	switch {
	case strings.ContainsAny(expression, "=<>!"):
		return "boolean"
	case strings.HasSuffix(last, "replicas") || strings.HasSuffix(last, "port") || strings.HasSuffix(last, "generation") || strings.HasPrefix(expression, "size("):
		return "integer"
	case strings.HasSuffix(expression, ".conditions"):
		return "[]object"
	}
	return "string"
}

// exampleOf returns values for the required fields of a schema in short form.
func exampleOf(spec map[string]any) map[string]any {
	out := map[string]any{}
	for name, field := range spec {
		switch field := field.(type) {
		case map[string]any:
			if nested := exampleOf(field); len(nested) > 0 {
				out[name] = nested
			}
		case string:
			if typeName, markers, _ := strings.Cut(field, "|"); strings.Contains(markers, "required=true") {
				value := map[string]any{"string": "example", "integer": int64(1), "float": int64(1), "boolean": true}[strings.TrimSpace(typeName)]
				if value != nil {
					out[name] = value
				}
			}
		}
	}
	return out
}
