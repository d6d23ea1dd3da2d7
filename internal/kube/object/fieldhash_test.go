package object

import (
	"fmt"
	"testing"
)

// TestHashCoversOwnedFieldsOnly compares the hashes of two contents with owned and other fields.
func TestHashCoversOwnedFieldsOnly(t *testing.T) {
	const (
		byName = `{"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}},"k:{\"name\":\"y\"}":{".":{},"f:name":{},"f:v":{}}}}`
		items  = `{"f:l":{"v:\"x\"":{},"v:\"y\"":{}}}`
	)
	for why, row := range map[string]struct {
		set, a, b string
		same      bool
	}{
		"nothing has changed":                      {`{"f:a":{}}`, `{"a":"1"}`, `{"a":"1"}`, true},
		"a value":                                  {`{"f:a":{}}`, `{"a":"1"}`, `{"a":"2"}`, false},
		"a number for a text":                      {`{"f:a":{}}`, `{"a":"1"}`, `{"a":1}`, false},
		"a value below":                            {`{"f:a":{"f:b":{}}}`, `{"a":{"b":1}}`, `{"a":{"b":2}}`, false},
		"two fields have swapped their values":     {`{"f:a":{},"f:b":{}}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		"two items have swapped their values":      {byName, `{"l":[{"name":"x","v":1},{"name":"y","v":2}]}`, `{"l":[{"name":"x","v":2},{"name":"y","v":1}]}`, false},
		"a field is missing":                       {`{"f:a":{},"f:b":{}}`, `{"a":1,"b":null}`, `{"a":1}`, false},
		"a field of others":                        {`{"f:a":{"f:b":{}}}`, `{"a":{"b":1},"c":1}`, `{"a":{"b":1,"c":2},"c":2}`, true},
		"a mapping that is owned as a whole":       {`{"f:a":{}}`, `{"a":{"b":1}}`, `{"a":{"b":1,"c":1}}`, false},
		"a mapping of which nothing is owned":      {`{"f:a":{".":{}}}`, `{"a":{"b":1}}`, `{"a":{"c":1}}`, true},
		"a list that is owned as a whole":          {`{"f:l":{}}`, `{"l":[1,2]}`, `{"l":[2,1]}`, false},
		"the order of items by key":                {byName, `{"l":[{"name":"x","v":1},{"name":"y","v":2}]}`, `{"l":[{"name":"y","v":2},{"name":"x","v":1}]}`, true},
		"a value in an item by key":                {byName, `{"l":[{"name":"x","v":1}]}`, `{"l":[{"name":"x","v":2}]}`, false},
		"an item by key is missing":                {byName, `{"l":[{"name":"x","v":1},{"name":"y","v":1}]}`, `{"l":[{"name":"x","v":1}]}`, false},
		"an item of others, and one of its fields": {byName, `{"l":[{"name":"x","v":1}]}`, `{"l":[{"name":"z"},{"name":"x","v":1,"w":1}]}`, true},
		"the order of items by value":              {items, `{"l":["x","y"]}`, `{"l":["y","z","x"]}`, true},
		"an item by value is missing":              {items, `{"l":["x","y"]}`, `{"l":["x"]}`, false},
		"a text where a mapping was":               {`{"f:a":{"f:b":{}}}`, `{"a":{"b":1}}`, `{"a":"b"}`, false},
	} {
		t.Run(why, func(t *testing.T) {
			a, b := set(t, row.set).Hash(data(t, row.a)), set(t, row.set).Hash(data(t, row.b))
			if (a == b) != row.same || a == 0 || b == 0 {
				t.Errorf("hashes %d and %d, want the same: %v", a, b, row.same)
			}
		})
	}
	t.Run("another set of fields", func(t *testing.T) {
		content := data(t, `{"a":1,"b":1}`)
		if set(t, `{"f:a":{}}`).Hash(content) == set(t, `{"f:a":{},"f:b":{}}`).Hash(content) {
			t.Error("one more field makes no other hash")
		}
	})
}

// BenchmarkHash hashes a Pod template with 100 variables, all of them owned.
func BenchmarkHash(b *testing.B) {
	owned, content := variables(100)
	b.ReportAllocs()
	for b.Loop() {
		owned.Hash(content)
	}
}

// variables returns a list of n items keyed by name, and the set that owns them.
func variables(n int) (FieldSet, map[string]any) {
	owned, list := map[string]any{}, []any{}
	for i := range n {
		name := fmt.Sprintf("VARIABLE_%d", i)
		owned[`k:{"name":"`+name+`"}`] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}, "f:value": map[string]any{}}
		list = append(list, map[string]any{"name": name, "value": "some value"})
	}
	return FieldSet{"f:env": owned}, map[string]any{"env": list}
}

// TestListItemsAreFoundAmongManyKeys finds items by the text of their key, and with a key field that the server has defaulted.
func TestListItemsAreFoundAmongManyKeys(t *testing.T) {
	owned, content := variables(100)
	if path := owned.Uncovered(content); path != "" || owned.Exceeds(content) || !owned.Same(content, content) {
		t.Errorf("%s is not found, or an item is taken for another", path)
	}
	ports := map[string]any{}
	for i := range 20 {
		ports[fmt.Sprintf(`k:{"port":%d,"protocol":"TCP"}`, i)] = map[string]any{"f:port": map[string]any{}}
	}
	if _, ok := FieldSet(ports).Item(map[string]any{"port": int64(7)}); !ok {
		t.Error("a port without a protocol is not found")
	}
	if _, ok := FieldSet(ports).Item(map[string]any{"port": int64(7), "protocol": "UDP"}); ok {
		t.Error("a port of another protocol is found")
	}
}
