package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemoveDeletesOwnedStatusFields(t *testing.T) {
	for why, row := range map[string]struct {
		held, status, left string // JSON
		path               string
	}{
		"another field":                       {`{"f:a":{}}`, `{"b":1}`, `{"b":1}`, ""},
		"a field":                             {`{"f:a":{}}`, `{"a":1,"b":1}`, `{"b":1}`, ".status.a"},
		"a field below":                       {`{"f:a":{"f:b":{}}}`, `{"a":{"b":1,"c":1}}`, `{"a":{"c":1}}`, ".status.a.b"},
		"the last field below":                {`{"f:a":{"f:b":{}}}`, `{"a":{"b":1}}`, `{}`, ".status.a.b"},
		"an atomic mapping":                   {`{"f:a":{}}`, `{"a":{"b":1}}`, `{}`, ".status.a"},
		"a mapping that is there":             {`{"f:a":{".":{}}}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`, ""},
		"a scalar where a mapping is":         {`{"f:a":{"f:b":{}}}`, `{"a":1}`, `{}`, ".status.a"},
		"an atomic list":                      {`{"f:a":{}}`, `{"a":[1]}`, `{}`, ".status.a"},
		"an item of a list":                   {`{"f:a":{"k:{\"n\":\"x\"}":{".":{},"f:n":{},"f:v":{}}}}`, `{"a":[{"n":"x","v":1},{"n":"y"}]}`, `{"a":[{"n":"y"}]}`, ".status.a[]"},
		"the only item":                       {`{"f:a":{"k:{\"n\":\"x\"}":{".":{},"f:n":{},"f:v":{}}}}`, `{"a":[{"n":"x","v":1}]}`, `{}`, ".status.a[]"},
		"one of two items that are held":      {`{"f:a":{"k:{\"n\":\"x\"}":{},"k:{\"n\":\"z\"}":{}}}`, `{"a":[{"n":"x"},{"n":"y"}]}`, `{"a":[{"n":"y"}]}`, ".status.a[]"},
		"an item of a set may be had by both": {`{"f:a":{"v:\"x\"":{}}}`, `{"a":["x","y"]}`, `{"a":["x","y"]}`, ""},
		"the first of two is told":            {`{"f:b":{},"f:a":{}}`, `{"a":1,"b":1}`, `{}`, ".status.a"},
	} {
		t.Run(why, func(t *testing.T) {
			held, status, left := mapping(t, row.held), mapping(t, row.status), mapping(t, row.left)
			if path := FieldSet(held).Remove(status, ".status"); path != row.path {
				t.Errorf("path %q, want %q", path, row.path)
			}
			if diff := cmp.Diff(left, status); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemoveKeepsEmptyMap(t *testing.T) {
	content := map[string]any{"a": map[string]any{}}
	held := FieldSet{"f:a": map[string]any{"f:b": map[string]any{}}}
	if path := held.Remove(content, ".status"); path != "" || len(content) != 1 {
		t.Errorf("%s is taken, and %v is left", path, content)
	}
}

func TestEmptiedMapsAreReleasedFirst(t *testing.T) {
	const owned = `{"f:a":{"f:b":{"f:c":{}}},"f:d":{}}`
	for why, row := range map[string]struct {
		content, want string
		emptied       bool
	}{
		"nothing becomes empty":                  {`{"a":{"b":{"c":1}},"d":1}`, `{"a":{"b":{"c":1}},"d":1}`, false},
		"a mapping, and the one around it":       {`{"a":{"b":{}},"d":1}`, `{"d":1}`, true},
		"the one around it has another field":    {`{"a":{"b":{},"e":1}}`, `{"a":{"e":1}}`, true},
		"an empty mapping that never had fields": {`{"a":{"b":{"c":1}},"d":{},"e":{}}`, `{"a":{"b":{"c":1}},"d":{},"e":{}}`, false},
	} {
		t.Run(why, func(t *testing.T) {
			content := data(t, row.content).(map[string]any)
			got, emptied := set(t, owned).WithoutEmptied(content)
			if emptied != row.emptied || !EqualValues(got, data(t, row.want)) || !EqualValues(content, data(t, row.content)) {
				t.Errorf("got %v and %v; content is %v", got, emptied, content)
			}
		})
	}
}
