// Package schema says which fields the objects of a kind have, and of which types. It reads this from
// CustomResourceDefinitions, from OpenAPI documents of an API server, and from a set for the kinds that are built in. It
// needs no client.
package schema

import "k8s.io/apimachinery/pkg/runtime/schema"

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
