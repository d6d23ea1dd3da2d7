//go:build !js

package crd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
		"schema: {spec: {name: string, level: string, tags: '[]string'}, status: {pods: string}}":                                                {"spec.replicas is not in the new schema and would be pruned (in 1 object, for example a)"},
		"schema: {spec: {name: string, replicas: string, level: string, tags: '[]string'}, status: {pods: string}}":                              {"spec.replicas does not match the type in the new schema (in 1 object, for example a)"},
		"schema: {spec: {name: string, replicas: integer | maximum=4, level: string, tags: '[]string'}, status: {pods: string}}":                 {"spec.replicas should be less than or equal to 4 (in 1 object, for example a)"},
		"schema: {spec: {name: 'string | enum=\"n,o\"', replicas: integer, level: string, tags: '[]string'}, status: {pods: string}}":            {"spec.name has a value that is no longer allowed (in 1 object, for example b)"},
		"schema: {spec: {name: string, replicas: integer, level: string, tags: '[]string | uniqueItems=true'}, status: {pods: string}}":          {"spec.tags[*] contains duplicate items (in 1 object, for example b)"},
		"schema: {spec: {name: string, replicas: 'integer | validation=\"self < 5\"', level: string, tags: '[]string'}, status: {pods: string}}": {"spec.replicas violates a rule of x-kubernetes-validations (in 1 object, for example a)"},
		"schema: {spec: {name: string, replicas: integer, level: string, tags: '[]string'}, status: {pods: integer}}":                            {"status.pods does not match the type in the new schema (in 1 object, for example b)"},
		"schema: {spec: {level: string, tags: '[]string'}, status: {pods: string}}":                                                              {"spec.name is not in the new schema and would be pruned (in 2 objects, for example a)", "spec.replicas is not in the new schema and would be pruned (in 1 object, for example a)"},
	} {
		c, err := Compare(definitionOf(t, before), definitionOf(t, after))
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range objects {
			c.Add(string(rune('a'+i)), o)
		}
		_, got, _ := c.Broken()
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
	if objects, why, _ := c.Broken(); objects != 1 {
		t.Error(why)
	}
}

func TestEmbeddedResourcesNeedTypeAndValidMetadata(t *testing.T) {
	const schema = "openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {of: {type: object, x-kubernetes-preserve-unknown-fields: true%s}}}}}"
	c, err := Compare(definitionOf(t, fmt.Sprintf(schema, "")), definitionOf(t, fmt.Sprintf(schema, ", x-kubernetes-embedded-resource: true")))
	if err != nil {
		t.Fatal(err)
	}
	c.Add("a", website(map[string]any{"of": map[string]any{"apiVersion": "v1", "kind": "Secret name"}}))
	c.Add("b", website(map[string]any{"of": map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}}}))
	c.Add("c", website(map[string]any{"of": map[string]any{"apiVersion": "v1"}}))
	want := []string{"spec.of.* does not match the new schema (in 1 object, for example a)", "spec.of.* is required, but not set (in 1 object, for example c)"}
	if _, why, _ := c.Broken(); !slices.Equal(why, want) {
		t.Errorf("%q", why)
	}
}

func TestValuesThatMayNotBeStored(t *testing.T) {
	const before = `schema: {spec: {a: integer | default=1, in: {b: integer | default=2, c: string}, of: "[]Item", by: "map[string]Item", free: object}, types: {Item: {d: integer | default=3}}}`
	for _, row := range []struct {
		from, to string // in before
		spec     map[string]any
		want     bool
	}{
		{"default=1", "default=9", map[string]any{"a": int64(1)}, true},
		{"default=1", "default=9", map[string]any{"a": int64(2)}, false},
		{"integer | default=1", "integer", map[string]any{"a": int64(1)}, true},
		{"a: integer", "e: string, a: integer", map[string]any{"a": int64(1)}, false},
		{"default=2", "default=9", map[string]any{"in": map[string]any{"b": int64(2), "c": "x"}}, true},
		{"default=2", "default=9", map[string]any{"in": map[string]any{"b": int64(2)}}, true},
		{"default=2", "default=9", map[string]any{"a": int64(1), "in": map[string]any{"b": int64(4)}}, false},
		{"default=3", "default=9", map[string]any{"of": []any{map[string]any{"d": int64(4)}, map[string]any{"d": int64(3)}}}, true},
		{"default=3", "default=9", map[string]any{"by": map[string]any{"k": map[string]any{"d": int64(3)}}}, true},
		{"default=3", "default=9", map[string]any{"free": map[string]any{"d": int64(3)}}, false},
	} {
		c, err := Compare(definitionOf(t, before), definitionOf(t, strings.Replace(before, row.from, row.to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		o := website(row.spec)
		if got := c.LosesDefaults(o); got != row.want {
			t.Errorf("%s becomes %s: %v: got %v", row.from, row.to, row.spec, got)
		}
		if diff := cmp.Diff(website(row.spec), o); diff != "" {
			t.Error("the object was changed", diff)
		}
	}
}

// TestLargeDefaultsAreNotCopiedForEachItem has many items, each with a default of many values.
func TestLargeDefaultsAreNotCopiedForEachItem(t *testing.T) {
	large := strings.Repeat("1,", 5000) + "1"
	before := `schema: {spec: {of: "[]Item"}, types: {Item: {l: "[]integer | default=[` + large + `]"}}}`
	c, err := Compare(definitionOf(t, before), definitionOf(t, strings.Replace(before, "default=[1,", "default=[2,", 1)))
	if err != nil {
		t.Fatal(err)
	}
	items := make([]any, 5000)
	for i := range items {
		items[i] = map[string]any{"l": []any{}}
	}
	if allocated := testing.AllocsPerRun(1, func() {
		if !c.LosesDefaults(website(map[string]any{"of": items})) {
			t.Error("the object is not too expensive")
		}
	}); allocated > 100_000 {
		t.Errorf("%v allocations", allocated)
	}
}

// TestRulesForManyObjectsHaveALimitedCost has a rule that costs much for each object: once it has cost too much, objects are not checked.
func TestRulesForManyObjectsHaveALimitedCost(t *testing.T) {
	c, err := Compare(definitionOf(t, "schema: {spec: {a: '[]integer'}}"), definitionOf(t, "schema: {spec: {a: '[]integer | maxItems=300 validation=\"self.all(x, self.all(y, x == y))\"'}}"))
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 200)
	for i := range list {
		list[i] = int64(1)
	}
	if c.after.budget != maxCost {
		t.Errorf("the limit is %d, want %d", c.after.budget, int64(maxCost))
	}
	c.after.budget = 2_000_000 // the whole limit takes seconds
	for range 100 {
		c.Add("a", website(map[string]any{"a": list}))
	}
	objects, why, unchecked := c.Broken()
	if objects != 0 || unchecked == 0 || unchecked == 100 {
		t.Errorf("%d objects are broken and %d not checked: %v", objects, unchecked, why)
	}
}

func website(spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": "example.org/v1", "kind": "Website", "metadata": map[string]any{"name": "a"}, "spec": spec}
}

// TestBrokenObjectsAreDescribedWithoutTheirValues has values in all places that a message could repeat.
func TestBrokenObjectsAreDescribedWithoutTheirValues(t *testing.T) {
	const before = `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	const after = `{type: object, properties: {spec: {type: object, properties: {
		text: {type: string, pattern: "^x$"}, date: {type: string, format: date-time}, long: {type: string, maxLength: 3}, more: {type: array, maxItems: 1, items: {type: string}},
		map: {type: object, additionalProperties: {type: object, properties: {port: {type: integer}}}},
		ruled: {type: string, x-kubernetes-validations: [{rule: "self == 'x'", messageExpression: "'value in body ' + self"}]},
		failing: {type: string, x-kubernetes-validations: [{rule: "int(self) > 0"}]},
		keys: {type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: "self == 'x'"}]}}}}}}`
	c, err := Compare(definitionOf(t, "openAPIV3Schema: "+before), definitionOf(t, "openAPIV3Schema: "+after))
	if err != nil {
		t.Fatal(err)
	}
	c.Add("a", website(map[string]any{
		"text": "SECRET", "date": "SECRET in body SECRET", "long": "SECRET", "more": []any{"SECRET", "SECRET"},
		"map":   map[string]any{"SECRET": map[string]any{"port": "SECRET"}, "SECRET.x in body SECRET": map[string]any{"port": "SECRET"}},
		"ruled": "SECRET", "failing": "SECRET", "SECRET": "SECRET", "keys": map[string]any{"SECRET": "SECRET", "SECRET].text": "SECRET"},
	}))
	_, why, _ := c.Broken()
	var got []string
	for _, reason := range why {
		got = append(got, strings.TrimSuffix(reason, " (in 1 object, for example a)"))
	}
	want := []string{
		"spec.* is not in the new schema and would be pruned",
		"spec.date does not match the type in the new schema",
		"spec.failing violates a rule of x-kubernetes-validations",
		"spec.keys[*] violates a rule of x-kubernetes-validations",
		"spec.keys[*].* violates a rule of x-kubernetes-validations",
		"spec.long may not be more than 3 bytes",
		"spec.map.*.* does not match the type in the new schema",
		"spec.map.*.port does not match the type in the new schema",
		"spec.more must have at most 1 item",
		"spec.ruled violates a rule of x-kubernetes-validations",
		"spec.text should match '^x$'",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHostileObjectsAreNotChecked has objects whose check would need much memory or time.
func TestHostileObjectsAreNotChecked(t *testing.T) {
	const plain = "schema: {spec: {list: '[]Item', map: 'map[string][]string'}, types: {Item: {a: string}}}"
	text := strings.Repeat("x", 10_000)
	for name, row := range map[string]struct {
		after     string
		spec      map[string]any
		unchecked int
	}{
		"long key":          {"schema: {spec: {list: '[]Item', map: 'map[string][]integer'}, types: {Item: {a: string}}}", map[string]any{"map": map[string]any{strings.Repeat("x", 100_000): slices.Repeat([]any{"x"}, 1000)}}, 1},
		"many large values": {"schema: {spec: {list: '[]Item'}, types: {Item: {a: string, b: 'map[string]string | default={\"" + text + "\":\"x\"}'}}}", map[string]any{"list": slices.Repeat([]any{map[string]any{}}, 10_000)}, 1},
		"fewer mistakes":    {"schema: {spec: {list: '[]integer'}}", map[string]any{"list": slices.Repeat([]any{map[string]any{"a": "x"}}, 5_000)}, 0},
		"many mistakes":     {"schema: {spec: {list: '[]integer'}}", map[string]any{"list": slices.Repeat([]any{map[string]any{"a": "x"}}, 50_000)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Compare(definitionOf(t, plain), definitionOf(t, row.after))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			c.Add("a", website(row.spec))
			objects, why, unchecked := c.Broken()
			if objects+unchecked != 1 || unchecked != row.unchecked {
				t.Errorf("%d objects are broken and %d not checked: %v", objects, unchecked, why)
			}
			if took := time.Since(start); took > 10*time.Second { // quadratic costs would take minutes
				t.Errorf("it took %v", took)
			}
		})
	}
}
