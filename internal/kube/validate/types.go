package validate

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
)

// typeCheck compares values with types. Nulls are accepted everywhere: the server drops them.
type typeCheck struct {
	faults     []string // in the words of server-side apply
	unreadable string   // why a value cannot be decoded; "" = all can
}

func (c *typeCheck) fault(at, format string, args ...any) {
	c.faults = append(c.faults, at+": "+fmt.Sprintf(format, args...))
}

func (c *typeCheck) value(at string, t *openapi.Type, v any) {
	if t == nil || v == nil {
		return
	}
	if t.Name == "Quantity" {
		c.quantity(v)
		return
	}
	if t.Kinds != 0 && t.Kinds&kindOf(v) == 0 {
		c.wrongType(at, t, v)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		c.fields(at, t, v)
	case []any:
		c.items(at, t, v)
	default:
		c.format(t, v)
	}
}

// kindOf returns the JSON types of a value: whole numbers also count as integers.
func kindOf(v any) openapi.JSONTypes {
	switch v := v.(type) {
	case string:
		return openapi.String
	case bool:
		return openapi.Boolean
	case float64:
		if v == math.Trunc(v) {
			return openapi.Integer | openapi.Number
		}
		return openapi.Number
	case []any:
		return openapi.List
	case map[string]any:
		return openapi.Map
	}
	return openapi.Integer | openapi.Number
}

func (c *typeCheck) wrongType(at string, t *openapi.Type, v any) {
	for _, each := range []struct {
		kind openapi.JSONTypes
		word string
	}{{openapi.Map, "map"}, {openapi.List, "list"}, {openapi.Number | openapi.Integer, "numeric (int or float)"}, {openapi.Boolean, "boolean"}, {openapi.String, "string"}} {
		if t.Kinds&each.kind == 0 {
			continue
		}
		if _, isNumber := v.(float64); isNumber && t.Kinds&openapi.Integer != 0 || t.Kinds&(t.Kinds-1) != 0 && t.Kinds != openapi.Integer|openapi.Number {
			c.unreadable = "the value has another type" // of several types, or a fraction
			return
		}
		c.fault(at, "expected %s, got &{%T}", each.word, v)
		return
	}
}

func (c *typeCheck) fields(at string, t *openapi.Type, content map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		switch f, known := t.Fields[name]; {
		case known:
			c.value(at+"."+name, f.Type, content[name])
		case t.Fields == nil:
			c.value(at+"."+name, t.Items, content[name])
		case !t.Open:
			c.fault(at+"."+name, "field not declared in schema")
		}
	}
}

func (c *typeCheck) items(at string, t *openapi.Type, items []any) {
	seen := map[string]bool{}
	for i, item := range items {
		index := fmt.Sprintf("[%d]", i)
		if lacksKeys(t, item) {
			c.fault(at, "element %d: associative list with keys has an element that omits all key fields", i)
		}
		if keys, kind := keyOf(t, item); keys != "" {
			if index = "[" + keys + "]"; seen[keys] {
				c.fault(at, "duplicate entries for %s [%s]", kind, keys)
			}
			seen[keys] = true
		}
		c.value(at+index, t.Items, item)
	}
}

// lacksKeys reports whether an item of a list has none of the fields that identify it, and the server sets none.
func lacksKeys(t *openapi.Type, item any) bool {
	content, isMap := item.(map[string]any)
	if !isMap || t.Rules == nil || len(t.Rules.Keys) == 0 || t.Items == nil {
		return false
	}
	return !slices.ContainsFunc(t.Rules.Keys, func(key string) bool { return content[key] != nil || t.Items.Fields[key].Present })
}

// keyOf returns the text that identifies an item of a list, and what the server calls it; "" = its index does.
func keyOf(t *openapi.Type, item any) (text, kind string) {
	if t.Rules == nil {
		return "", ""
	}
	if t.Rules.Set {
		return fmt.Sprintf("%v", item), "set item"
	}
	content, _ := item.(map[string]any)
	var parts []string
	for _, key := range t.Rules.Keys {
		value := content[key]
		if value == nil && key == "protocol" { // the only key with a default
			value = "TCP"
		}
		parts = append(parts, fmt.Sprintf("%s=%q", key, fmt.Sprint(value)))
	}
	return strings.Join(parts, ","), "key"
}

// format checks that a scalar can be decoded.
func (c *typeCheck) format(t *openapi.Type, v any) {
	if t.Rules == nil {
		return
	}
	var err error
	switch text, _ := v.(string); t.Rules.Format {
	case "byte":
		_, err = base64.StdEncoding.DecodeString(text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		if c.unreadable = "the time is not RFC 3339"; t.Rules.Format == "byte" {
			c.unreadable = "illegal base64 data"
		}
	}
}

func (c *typeCheck) quantity(v any) {
	switch v := v.(type) {
	case string:
		if _, err := object.ParseQuantity(v); err != nil {
			c.unreadable = "quantities must match the regular expression"
		}
	case bool, []any, map[string]any:
		c.unreadable = "quantities must match the regular expression"
	}
}
