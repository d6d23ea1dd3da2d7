// Package openapi provides the schemas of kinds, from CustomResourceDefinitions, the OpenAPI documents of the API server, and an
// embedded copy for built-in kinds.
package openapi

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// JSONTypes is a set of JSON types.
type JSONTypes uint8

// The JSON types.
const (
	String JSONTypes = 1 << iota
	Integer
	Number // with a fraction; a field for any number is Integer|Number
	Boolean
	List
	Map
	Null
)

// Type describes the values of a field. A nil Type, or a Type without kinds, allows any value. A Type may contain itself. It is
// immutable, and therefore safe for concurrent use.
type Type struct {
	// Name is a human-readable name, such as SimpleDeployment or Container, or "".
	Name  string
	Kinds JSONTypes // 0 = anything
	// Fields are the fields of a map with known keys; nil if any key is allowed.
	Fields map[string]Field
	// Open reports whether keys other than those in Fields are allowed, with unknown types.
	Open bool
	// Items is the type of the items of a list, or of the values of a map with arbitrary keys; nil allows anything.
	Items *Type
	Enum  []string // allowed strings, if restricted
	// Rules are further rules for values; nil = none, or unknown. Only the types of built-in kinds have them.
	Rules *Rules
}

// Rules are rules for values of a type that do not concern the types of templates.
type Rules struct {
	Format   string   // int32, byte or date-time; "" = any
	Required []string // fields of a map
	// Keys are the fields that identify the items of a list: no two items have the same values. In a Set, items themselves are unique.
	Keys []string
	Set  bool
}

// MayHave reports whether there can be a value at a path. The path omits list indexes.
func (t *Type) MayHave(path []string) bool {
	for len(path) > 0 {
		switch {
		case t == nil || t.Kinds == 0:
			return true
		case t.Fields == nil && t.Kinds&List != 0:
			t = t.Items
		case t.Kinds&Map == 0:
			return false
		case t.Fields == nil:
			t, path = t.Items, path[1:]
		default:
			field, ok := t.Fields[path[0]]
			if !ok {
				return t.Open
			}
			t, path = field.Type, path[1:]
		}
	}
	return true
}

// Field is a field of a map.
type Field struct {
	Type *Type // nil allows anything
	// Present reports whether the field is always set and not null: it is required or has a default.
	Present bool
}

// Set looks up the types of kinds. It is safe for concurrent use.
type Set interface {
	// Lookup returns the type of the objects of a kind as returned by a server, with the metadata that the server sets. It
	// returns nil if the type is unknown, and false if the kind is known not to exist.
	Lookup(gvk schema.GroupVersionKind) (t *Type, exists bool)
}

// Words describes the JSON types, such as "a string or a number".
func (k JSONTypes) Words() string {
	var words []string
	for _, each := range []struct {
		kinds JSONTypes
		words string
	}{{String, "a string"}, {Integer | Number, "a number"}, {Boolean, "a boolean"}, {List, "a list"}, {Map, "a map"}, {Null, "missing"}} {
		if k&each.kinds != 0 {
			words = append(words, each.words)
		}
	}
	return strings.Join(words, " or ")
}

// Classes returns the kinds without Null, treating Integer and Number as the same.
func (k JSONTypes) Classes() JSONTypes {
	if k&(Integer|Number) != 0 {
		k |= Integer | Number
	}
	return k &^ Null
}

// readSet is a Set of parsed types.
type readSet struct {
	byKind map[schema.GroupVersionKind]*Type
	// whole reports whether the set contains all kinds like this one, so that a kind that is not in byKind does not exist.
	whole func(schema.GroupVersionKind) bool
}

func (t *readSet) Lookup(gvk schema.GroupVersionKind) (*Type, bool) {
	found, ok := t.byKind[gvk]
	return found, ok || !t.whole(gvk)
}

// Join returns a Set that looks up a kind in sets, in order, and returns the first known type. A kind does not exist if a set
// reports so and no set has a type for it. Nil sets are ignored.
func Join(sets ...Set) Set {
	var joined sequence
	for _, set := range sets {
		if set != nil {
			joined = append(joined, set)
		}
	}
	return joined
}

// MayHave returns a function that reports whether an object can have a value at a path, according to the type of its kind. It
// returns nil if known is nil.
func MayHave(known Set) func(object map[string]any, path []string) bool {
	if known == nil {
		return nil
	}
	return func(object map[string]any, path []string) bool {
		apiVersion, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		t, _ := known.Lookup(schema.FromAPIVersionAndKind(apiVersion, kind))
		return t.MayHave(path)
	}
}

type sequence []Set

func (s sequence) Lookup(gvk schema.GroupVersionKind) (*Type, bool) {
	exists := true
	for _, set := range s {
		t, ok := set.Lookup(gvk)
		if t != nil {
			return t, true
		}
		exists = exists && ok
	}
	return nil, exists
}
