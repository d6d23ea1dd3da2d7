// Command editorschema writes a JSON schema of TemplateControllers and NamespacedTemplateControllers for editors, converted from the CRDs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
)

func main() {
	crd := flag.String("crd", "config/crd/templater.dev_templatecontrollers.yaml", "the CustomResourceDefinition")
	namespaced := flag.String("namespaced-crd", "config/crd/templater.dev_namespacedtemplatecontrollers.yaml", "the CustomResourceDefinition of NamespacedTemplateControllers")
	output := flag.String("output", "config/schema/templatecontroller_v1.json", "the file to write")
	flag.Parse()
	if err := run(*crd, *namespaced, *output); err != nil {
		fmt.Fprintln(os.Stderr, "editorschema:", err)
		os.Exit(1)
	}
}

func run(crd, namespaced, output string) error {
	schema, err := read(crd)
	if err != nil {
		return err
	}
	other, err := read(namespaced)
	if err != nil {
		return err
	}
	schema[namespacedRules] = other["x-kubernetes-validations"]
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(output, append(text, '\n'), 0o644) //nolint:gosec // a schema is public
}

// namespacedRules has the rules of a NamespacedTemplateController as a whole; everything else is the same.
const namespacedRules = "x-namespaced-validations"

func read(crd string) (map[string]any, error) {
	text, err := os.ReadFile(crd)
	if err != nil {
		return nil, err
	}
	schema, err := convert(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", crd, err)
	}
	return schema, nil
}

// convert returns the schema of the API's version.
func convert(crd []byte) (map[string]any, error) {
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(crd, &definition); err != nil {
		return nil, err
	}
	for _, version := range definition.Spec.Versions {
		if version.Name == v1.GroupVersion.Version {
			return whole(version.Schema.OpenAPIV3Schema), nil
		}
	}
	return nil, fmt.Errorf("there is no version %s", v1.GroupVersion.Version)
}

// whole returns the schema of a file: without the status, which users do not write, and with metadata as the API server
// accepts it.
func whole(schema map[string]any) map[string]any {
	schema = converted(schema).(map[string]any)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = v1.KindTemplateController
	schema["required"] = []any{"apiVersion", "kind", "metadata", "spec"}
	properties := schema["properties"].(map[string]any)
	delete(properties, "status")
	properties["apiVersion"] = map[string]any{"const": v1.GroupVersion.String()}
	properties["kind"] = map[string]any{"enum": []any{v1.KindTemplateController, v1.KindNamespacedTemplateController}}
	texts := map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	properties["metadata"] = map[string]any{
		"type": "object", "required": []any{"name"},
		"properties": map[string]any{
			"name":      map[string]any{"type": "string", "maxLength": 253, "pattern": `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`},
			"namespace": map[string]any{"type": "string", "maxLength": 63, "pattern": `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`},
			"labels":    texts, "annotations": texts,
		},
	}
	return schema
}

// converted returns a schema as JSON schema: objects reject unknown fields, as the API server does for files that are
// applied with validation.
func converted(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = converted(v[i])
		}
	case map[string]any:
		convertMap(v)
	}
	return v
}

// convertMap converts the keywords of a schema.
func convertMap(schema map[string]any) {
	if schema["x-kubernetes-int-or-string"] == true {
		delete(schema, "anyOf")
		schema["type"] = []any{"integer", "string"}
	}
	properties, named := schema["properties"].(map[string]any)
	if named && schema["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] == nil {
		schema["additionalProperties"] = false
	}
	for name := range properties { // a property may have the name of a keyword
		properties[name] = converted(properties[name])
	}
	for key, value := range schema {
		switch {
		case key == "x-kubernetes-validations":
		case strings.HasPrefix(key, "x-kubernetes-"):
			delete(schema, key)
		case key != "properties" && key != "default" && key != "enum":
			schema[key] = converted(value)
		}
	}
}
