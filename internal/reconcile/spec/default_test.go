package spec

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
)

// object is a mapping in the schema of a spec.
type object = map[string]any

// specSchema returns the schema of spec in the CustomResourceDefinition.
func specSchema(t *testing.T) object {
	t.Helper()
	text, err := os.ReadFile("../../../config/crd/templater.dev_templatecontrollers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema object }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	spec, _, err := unstructured.NestedMap(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "properties", "spec")
	if err != nil || spec == nil {
		t.Fatal("there is no schema of a spec", err)
	}
	return spec
}

// everything returns a value for a schema, with all mappings and one item of each list, but no other fields.
func everything(schema object) any {
	properties, _ := schema["properties"].(object)
	items, _ := schema["items"].(object)
	switch {
	case items["type"] == "object":
		return []any{everything(items)}
	case schema["type"] != "object":
		return nil
	}
	all := object{}
	for name, field := range properties {
		if value := everything(field.(object)); value != nil { //nolint:forcetypeassert // a schema
			all[name] = value
		}
	}
	return all
}

// defaulted applies the defaults of a schema to a value, as the API server does.
func defaulted(value any, schema object) {
	properties, _ := schema["properties"].(object)
	items, _ := schema["items"].(object)
	switch value := value.(type) {
	case object:
		for name, field := range properties {
			field := field.(object) //nolint:forcetypeassert // a schema
			if byDefault, has := field["default"]; has && value[name] == nil {
				value[name] = runtime.DeepCopyJSONValue(byDefault)
			}
			defaulted(value[name], field)
		}
	case []any:
		for _, item := range value {
			defaulted(item, items)
		}
	}
}

// TestDefaultMatchesAPIServer compares Default with the defaults in the CustomResourceDefinition.
func TestDefaultMatchesAPIServer(t *testing.T) {
	of := specSchema(t)
	specOf := func(t *testing.T, content any) *v1.TemplateControllerSpec {
		t.Helper()
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		s := &v1.TemplateControllerSpec{}
		if err := json.Unmarshal(text, s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	given := map[string]any{
		"resyncPeriod": "0s", "whenDeleted": "DeleteChildren", "status": map[string]any{"readyCondition": ""},
		"children": []any{map[string]any{
			"prunePolicy": "Orphan", "deletionPolicy": "Orphan", "scope": "Cluster",
			"updateStrategy": map[string]any{"type": "Recreate", "rollingUpdate": map[string]any{"maxUnavailable": "10%"}},
		}},
		"finalize": map[string]any{"order": "Reverse"},
		"related":  []any{map[string]any{"logs": map[string]any{"tailLines": 1, "limitBytes": 2}}},
	}
	for why, content := range map[string]any{
		"nothing is given":          map[string]any{},
		"a child, and no more":      map[string]any{"children": []any{map[string]any{}}},
		"each mapping is there":     everything(of),
		"what is given is not lost": given,
	} {
		t.Run(why, func(t *testing.T) {
			got := specOf(t, content)
			if diff := cmp.Diff(&v1.TemplateControllerSpec{}, got); diff == "" && why != "nothing is given" {
				t.Fatal("nothing is given: the test proves nothing")
			}
			Default(got)
			defaulted(content, of)
			if diff := cmp.Diff(specOf(t, content), got); diff != "" {
				t.Errorf("defaults (-API server +Default):\n%s", diff)
			}
			again := got.DeepCopy()
			Default(again)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("a second time (-first +second):\n%s", diff)
			}
		})
	}
}
