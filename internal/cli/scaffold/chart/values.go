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

// anything is the schema of a value of which nothing is known.
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

// mergeKey is the key of what a mapping takes from others. https://yaml.org/type/merge.html
const mergeKey = "<<"

// merges returns the mappings whose keys a mapping has, too, but for those of its own. The keys of the first ones count.
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

// comment returns what the comment above a key says, as helm-docs has it or not.
func comment(key *yaml.Node) string {
	var lines []string
	for line := range strings.Lines(key.HeadComment) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		line = strings.TrimSpace(strings.TrimPrefix(line, "--"))
		switch {
		case line == "": // what stands above is about something else
			lines = nil
		case !strings.HasPrefix(line, "@"):
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// common returns the schema of items that have that of each.
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

// demanded adds a field that templates read and values.yaml does not have. A map of which templates take the whole may have
// any key.
func demanded(schema map[string]any, path string) {
	if path == "" {
		return
	}
	for part := range strings.SplitSeq(path, ".") {
		properties, _ := schema["properties"].(map[string]any)
		if properties == nil {
			return // anything may be there
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

// openAll lets a map, and all maps in it, have any key.
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

// restricts are the keywords of values.schema.json that a CustomResourceDefinition has in the same sense.
var restricts = []string{"description", "title", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "required", "format"}

// drops are those that it does not have, or not in every place.
var drops = []string{"$ref", "anyOf", "oneOf", "allOf", "not", "if", "patternProperties", "const", "dependencies"}

// restrict adds what values.schema.json says of a value.
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

// restrictType gives a schema the type that values.schema.json says. A default of another type goes.
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

// property returns the schema of a field, which is made where it is not there.
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

// open lets a map or a list hold anything.
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
			schema, defaults = of, values.(map[string]any) //nolint:forcetypeassert // that of a mapping is one
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

// readFile returns a file of the chart, with the line ends of Unix.
func readFile(fsys fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(fsys, name)
	return strings.ReplaceAll(string(text), "\r\n", "\n"), err
}
