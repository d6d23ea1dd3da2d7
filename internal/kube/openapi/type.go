// Package openapi has the schemas of kinds, from CustomResourceDefinitions, the OpenAPI documents of the API server, and an embedded copy for
// built-in kinds.
package openapi

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds is a set of what a value may be.
type Kinds uint8

// The kinds of values.
const (
	String Kinds = 1 << iota
	Integer
	Number // with a fraction; a field for numbers is Integer|Number
	Boolean
	List
	Map
	Null
)

// Type describes the values of a field. A nil Type, and one without kinds, is that of anything. A Type may contain
// itself. It never changes, so that it is safe for concurrent use.
type Type struct {
	// Name is how people call what it describes, such as SimpleDeployment or Container; "" if it has no name.
	Name  string
	Kinds Kinds // 0 = anything
	// Fields are those of a map whose keys are known; nil if any key may be there.
	Fields map[string]Field
	// Open says that there may be more keys than Fields: of those nothing is known.
	Open bool
	// Items is what a list holds, or a map whose keys are not known; nil is anything.
	Items *Type
	Enum  []string // of strings, if only some are possible
}

// MayHave reports whether there may be a value at a path. Positions in lists are left out of it.
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
	Type *Type // nil is anything
	// Present says that it is always there, and not null: it is required, or has a default.
	Present bool
}

// Set finds the types of kinds. It is safe for concurrent use.
type Set interface {
	// Lookup returns the type of the objects of a kind, as a server has them: metadata holds what a server fills in.
	// Nil means that nothing is known of them. It returns false where it is known that there is no such kind.
	Lookup(gvk schema.GroupVersionKind) (t *Type, exists bool)
}

// Words says what a value may be, such as "a string or a number".
func (k Kinds) Words() string {
	var words []string
	for _, each := range []struct {
		kinds Kinds
		words string
	}{{String, "a string"}, {Integer | Number, "a number"}, {Boolean, "a boolean"}, {List, "a list"}, {Map, "a map"}, {Null, "missing"}} {
		if k&each.kinds != 0 {
			words = append(words, each.words)
		}
	}
	return strings.Join(words, " or ")
}

// Classes returns the kinds without null, in which all numbers are one.
func (k Kinds) Classes() Kinds {
	if k&(Integer|Number) != 0 {
		k |= Integer | Number
	}
	return k &^ Null
}

// readSet is a Set whose types have been read.
type readSet struct {
	byKind map[schema.GroupVersionKind]*Type
	// whole reports whether a kind would be among them if there was one of that name.
	whole func(schema.GroupVersionKind) bool
}

func (t *readSet) Lookup(gvk schema.GroupVersionKind) (*Type, bool) {
	found, ok := t.byKind[gvk]
	return found, ok || !t.whole(gvk)
}

// Join returns a Set that asks one after the other: the first that knows the type of a kind tells it. A kind does not
// exist when one of them says so and none knows its type. Those that are nil know nothing.
func Join(sets ...Set) Set {
	var joined sequence
	for _, set := range sets {
		if set != nil {
			joined = append(joined, set)
		}
	}
	return joined
}

// MayHave returns a function that reports whether an object may have a value at a path, by the type of its kind. It returns nil where known
// is nil.
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
