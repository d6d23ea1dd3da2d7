//go:build !js

package crd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComparisonFindsBrokenObjects(t *testing.T) {
	const before = "schema: {spec: {name: string, replicas: integer, level: string, tags: '[]string'}, status: {pods: string}}"
	objects := []map[string]any{
		{"apiVersion": "example.org/v1", "kind": "Website", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"name": "n", "replicas": int64(5)}},
		{"apiVersion": "example.org/v1", "kind": "Website", "metadata": map[string]any{"name": "b"}, "spec": map[string]any{"name": "m", "tags": []any{"x", "x"}}, "status": map[string]any{"pods": "1/1"}},
	}
	for after, want := range map[string][]string{
		"schema: {spec: {name: string, replicas: integer, level: string, tags: '[]string', new: string}, status: {pods: string}}":                nil,
		"schema: {spec: {name: string, replicas: integer, tags: '[]string'}, status: {pods: string}}":                                            nil, // level is not set
		"schema: {spec: {name: string, replicas: integer, level: integer, tags: '[]string'}, status: {pods: string}}":                            nil,
		"schema: {spec: {name: string | required=true, replicas: integer, level: string, tags: '[]string'}, status: {pods: string}}":             nil, // always set
		"schema: {spec: {name: string, replicas: integer, level: string | required=true default=x, tags: '[]string'}, status: {pods: string}}":   nil, // defaulted
		"schema: {spec: {name: string | immutable=true, replicas: integer, level: string, tags: '[]string'}, status: {pods: string}}":            nil,
		"schema: {spec: {name: string, replicas: integer, level: string | required=true, tags: '[]string'}, status: {pods: string}}":             {"spec.level is required, but not set (in 2 objects, for example a)"},
		"schema: {spec: {name: string, level: string, tags: '[]string'}, status: {pods: string}}":                                                {"spec.replicas is no longer in the schema, and would be dropped (in 1 object, for example a)"},
		"schema: {spec: {name: string, replicas: string, level: string, tags: '[]string'}, status: {pods: string}}":                              {"spec.replicas does not have the type in the new schema (in 1 object, for example a)"},
		"schema: {spec: {name: string, replicas: integer | maximum=4, level: string, tags: '[]string'}, status: {pods: string}}":                 {"spec.replicas should be less than or equal to 4 (in 1 object, for example a)"},
		"schema: {spec: {name: 'string | enum=\"n,o\"', replicas: integer, level: string, tags: '[]string'}, status: {pods: string}}":            {"spec.name has a value that is no longer allowed (in 1 object, for example b)"},
		"schema: {spec: {name: string, replicas: integer, level: string, tags: '[]string | uniqueItems=true'}, status: {pods: string}}":          {"spec.tags[1] has duplicates (in 1 object, for example b)"},
		"schema: {spec: {name: string, replicas: 'integer | validation=\"self < 5\"', level: string, tags: '[]string'}, status: {pods: string}}": {"spec.replicas does not satisfy a validation rule (in 1 object, for example a)"},
		"schema: {spec: {name: string, replicas: integer, level: string, tags: '[]string'}, status: {pods: integer}}":                            {"status.pods does not have the type in the new schema (in 1 object, for example b)"},
		"schema: {spec: {level: string, tags: '[]string'}, status: {pods: string}}":                                                              {"spec.name is no longer in the schema, and would be dropped (in 2 objects, for example a)", "spec.replicas is no longer in the schema, and would be dropped (in 1 object, for example a)"},
	} {
		c, err := Compare(definitionOf(t, before), definitionOf(t, after))
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range objects {
			c.Add(string(rune('a'+i)), o)
		}
		_, got := c.Broken()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", after, diff)
		}
	}
	if c, err := Compare(definitionOf(t, before), definitionOf(t, before)); c != nil || err != nil {
		t.Error("the same schema is compared", err)
	}
}

func TestDefinitionWithoutSchemaAllowsAnything(t *testing.T) {
	before := definitionOf(t, "schema: {spec: {a: string}}")
	before.Spec.Versions[0].Schema = nil
	c, err := Compare(before, definitionOf(t, "schema: {spec: {a: string}}"))
	if err != nil {
		t.Fatal(err)
	}
	c.Add("a", map[string]any{"apiVersion": "example.org/v1", "kind": "Website", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"b": "text"}})
	if objects, why := c.Broken(); objects != 1 {
		t.Error(why)
	}
}

// TestRulesForManyObjectsHaveALimitedCost has a rule that costs much for each object: once it has cost too much, objects count as broken.
func TestRulesForManyObjectsHaveALimitedCost(t *testing.T) {
	c, err := Compare(definitionOf(t, "schema: {spec: {a: '[]integer'}}"), definitionOf(t, "schema: {spec: {a: '[]integer | validation=\"self.all(x, self.all(y, x == y))\"'}}"))
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 200)
	for i := range list {
		list[i] = int64(1)
	}
	object := map[string]any{"apiVersion": "example.org/v1", "kind": "Website", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"a": list}}
	if c.after.budget != maxCost {
		t.Errorf("the limit is %d, want %d", c.after.budget, int64(maxCost))
	}
	c.after.budget = 2_000_000 // the whole limit takes seconds
	for range 100 {
		c.Add("a", object)
	}
	objects, why := c.Broken()
	t.Logf("%d of 100 objects: %v", objects, why)
	if objects == 0 || objects == 100 {
		t.Error("the cost is not limited, or too much")
	}
}
