// Package fields is the algebra of field ownership: what the set of fields that a manager holds (managedFields) says
// of the content of an object.
package fields
