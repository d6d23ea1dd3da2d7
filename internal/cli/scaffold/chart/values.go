package chart

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/cli/scaffold"
)

// anything is the schema of a value of unknown type.
func anything() map[string]any { return map[string]any{"x-kubernetes-preserve-unknown-fields": true} }

// schemaOf returns a schema that describes a node of values.yaml, with the value as the default, and the plain value.
func schemaOf(n *yaml.Node) (schema map[string]any, value any) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.MappingNode {
		return schemaOfMap(n)
	}
	if n.Kind == yaml.SequenceNode {
		items := []any{}
		var of []map[string]any
		for _, item := range n.Content {
			s, v := schemaOf(item)
			delete(s, "default")
			of, items = append(of, s), append(items, v)
		}
		return map[string]any{"type": "array", "items": common(of), "default": items}, items
	}
	var plain any
	if err := n.Decode(&plain); err != nil || plain == nil {
		return anything(), nil
	}
	switch v := plain.(type) {
	case bool:
		return map[string]any{"type": "boolean", "default": v}, v
	case int:
		return map[string]any{"type": "integer", "format": "int64", "default": int64(v)}, int64(v)
	case int64:
		return map[string]any{"type": "integer", "format": "int64", "default": v}, v
	case float64:
		return map[string]any{"type": "number", "default": v}, v
	}
	text := n.Value
	return map[string]any{"type": "string", "default": text}, text
}

func schemaOfMap(n *yaml.Node) (schema map[string]any, value any) {
	properties, values := map[string]any{}, map[string]any{}
	for _, of := range slices.Backward(merges(n)) {
		s, v := schemaOf(of)
		inner, _ := s["properties"].(map[string]any)
		maps.Copy(properties, inner)
		merged, _ := v.(map[string]any)
		maps.Copy(values, merged)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Value == mergeKey {
			continue
		}
		s, v := schemaOf(n.Content[i+1])
		if text := comment(key); text != "" {
			s["description"] = text
		}
		properties[key.Value] = s
		if v != nil {
			values[key.Value] = v
		}
	}
	schema = map[string]any{"type": "object", "default": map[string]any{}}
	if len(properties) == 0 {
		schema["x-kubernetes-preserve-unknown-fields"] = true
	} else {
		schema["properties"] = properties
	}
	return schema, values
}

// mergeKey is the YAML merge key. https://yaml.org/type/merge.html
const mergeKey = "<<"

// merges returns the mappings that are merged into a mapping. Its own keys, then those of earlier mappings take precedence.
func merges(n *yaml.Node) []*yaml.Node {
	var all []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		switch of := n.Content[i+1]; {
		case n.Content[i].Value != mergeKey:
		case of.Kind == yaml.SequenceNode:
			all = append(all, of.Content...)
		default:
			all = append(all, of)
		}
	}
	return all
}

// comment returns the comment above a key, with or without helm-docs syntax.
func comment(key *yaml.Node) string {
	var lines []string
	for line := range strings.Lines(key.HeadComment) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		line = strings.TrimSpace(strings.TrimPrefix(line, "--"))
		switch {
		case line == "": // the text above does not belong to the key
			lines = nil
		case !strings.HasPrefix(line, "@"):
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// common returns a schema for items with any of the schemas.
func common(of []map[string]any) map[string]any {
	if len(of) == 0 {
		return anything()
	}
	kind, _ := of[0]["type"].(string)
	for _, s := range of {
		if s["type"] != kind {
			return anything()
		}
	}
	switch kind {
	case "object":
		return map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	case "", "array":
		return anything()
	}
	return of[0]
}

// demanded adds a field that templates read and values.yaml does not have. A map that templates use as a whole can have
// any key.
func demanded(schema map[string]any, path string) {
	if path == "" {
		return
	}
	for part := range strings.SplitSeq(path, ".") {
		properties, _ := schema["properties"].(map[string]any)
		if properties == nil {
			return // any type is allowed
		}
		next, _ := properties[part].(map[string]any)
		if next == nil {
			properties[part] = anything()
			return
		}
		schema = next
	}
	openAll(schema)
}

// openAll allows any key in a map and its nested maps.
func openAll(schema map[string]any) {
	if schema["type"] != "object" {
		return
	}
	schema["x-kubernetes-preserve-unknown-fields"] = true
	properties, _ := schema["properties"].(map[string]any)
	for _, field := range properties {
		if of, ok := field.(map[string]any); ok {
			openAll(of)
		}
	}
}

// restricts are the keywords of values.schema.json with the same meaning in a CustomResourceDefinition.
var restricts = []string{"description", "title", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "required", "format"}

// drops are keywords that it does not support, or not everywhere.
var drops = []string{"$ref", "anyOf", "oneOf", "allOf", "not", "if", "patternProperties", "const", "dependencies"}

// restrict adds the restrictions of values.schema.json for a value.
func restrict(schema, by map[string]any, path string, note func(string)) {
	for _, key := range drops {
		if by[key] != nil {
			note(fmt.Sprintf("%s: %s is dropped: a CustomResourceDefinition does not support this keyword here", path, key))
		}
	}
	for _, key := range restricts {
		if by[key] != nil {
			schema[key] = by[key]
		}
	}
	restrictType(schema, by["type"])
	inner, _ := by["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		of, _ := inner[name].(map[string]any)
		restrict(property(schema, name), of, path+"."+name, note)
	}
	if items, _ := by["items"].(map[string]any); items != nil && schema["type"] == "array" {
		field, _ := schema["items"].(map[string]any)
		restrict(field, items, path+"[]", note)
	}
}

// restrictType sets the type from values.schema.json. It removes a default of another type.
func restrictType(schema map[string]any, of any) {
	name, nullable := typeOf(of)
	if name == "" {
		return
	}
	if schema["type"] != name {
		delete(schema, "default")
		delete(schema, "format")
	}
	schema["type"] = name
	if nullable {
		schema["nullable"] = true
	}
	if name == "object" && schema["properties"] == nil || name == "array" && schema["items"] == nil {
		open(schema)
	} else if name != "object" {
		delete(schema, "x-kubernetes-preserve-unknown-fields")
	}
}

// property returns the schema of a field, and creates it if necessary.
func property(schema map[string]any, name string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		schema["properties"] = properties
	}
	field, _ := properties[name].(map[string]any)
	if field == nil {
		field = anything()
		properties[name] = field
	}
	return field
}

// open allows anything in a map or list.
func open(schema map[string]any) {
	if schema["type"] == "array" {
		schema["items"] = anything()
		return
	}
	schema["x-kubernetes-preserve-unknown-fields"] = true
}

// typeOf returns the one type that a schema names, and whether null is another.
func typeOf(of any) (name string, nullable bool) {
	switch of := of.(type) {
	case string:
		return of, false
	case []any:
		for _, one := range of {
			switch text, _ := one.(string); {
			case text == "null":
				nullable = true
			case name != "":
				return "", false
			default:
				name = text
			}
		}
	}
	return name, nullable
}

// values reads values.yaml and values.schema.json: the schema of .spec, and its default.
func (c *chart) values(r *rewriter) (schema, defaults map[string]any, err error) {
	schema, defaults = map[string]any{"type": "object", "properties": map[string]any{}}, map[string]any{}
	if text, found := c.files["values.yaml"]; found {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			return nil, nil, in("values.yaml", err)
		}
		if len(node.Content) > 0 && node.Content[0].Kind == yaml.MappingNode {
			of, values := schemaOf(node.Content[0])
			delete(of, "default")
			schema, defaults = of, values.(map[string]any) //nolint:forcetypeassert // the default of a mapping is a map
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.values)) {
		demanded(schema, path)
	}
	if text, found := c.files["values.schema.json"]; found {
		var by map[string]any
		if err := json.Unmarshal([]byte(text), &by); err != nil {
			return nil, nil, in("values.schema.json", err)
		}
		delete(by, "title")
		delete(by, "description")
		restrict(schema, by, "spec", func(message string) {
			c.notes = append(c.notes, scaffold.Note{File: "values.schema.json", Message: message})
		})
	}
	return schema, defaults, nil
}

// readFile returns a file of the chart with Unix line ends.
func readFile(fsys fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(fsys, name)
	return strings.ReplaceAll(string(text), "\r\n", "\n"), err
}
