package openapi

import (
	"encoding/json"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// maxSchemaDepth is the maximum depth of a schema. Values below it can be anything.
const maxSchemaDepth = 100

// kindsOf maps types in JSON schemas to Kinds.
var kindsOf = map[string]JSONTypes{
	"string":  String,
	"integer": Integer,
	"number":  Integer | Number,
	"boolean": Boolean,
	"array":   List,
	"object":  Map,
}

// plain are the types that have only kinds. All users share them.
var plain = func() (all [Null << 1]*Type) {
	for kinds := range all {
		all[kinds] = &Type{Kinds: JSONTypes(kinds)}
	}
	return all
}()

// simple returns the type that has only these kinds.
func simple(kinds JSONTypes) *Type { return plain[kinds] }

// reader converts JSON schemas to types. It only uses what is certain.
type reader struct {
	// structural reports whether the server prunes all fields that are not in the schema, even if the schema has no fields.
	structural bool
	// rules reports whether types get Rules.
	rules bool
	// definitions are the types for $ref, which may not be filled yet.
	definitions map[string]*Type
	*sharer
}

// read returns the type of the values that a schema allows, or nil if it allows anything.
func (r *reader) read(s *apiextensionsv1.JSONSchemaProps, depth int) *Type {
	if s == nil || depth > maxSchemaDepth {
		return nil
	}
	if s.Ref != nil {
		return r.definitions[*s.Ref]
	}
	if s.XIntOrString {
		return simple(String | Integer | nullOf(s))
	}
	kinds, known := kindsOf[s.Type]
	if !known {
		return r.combined(s, depth)
	}
	kinds |= nullOf(s)
	switch s.Type {
	case "object":
		return r.object(s, kinds, depth)
	case "array":
		if s.Items == nil || s.Items.Schema == nil {
			return simple(kinds)
		}
		return r.share(&Type{Kinds: kinds, Items: r.read(s.Items.Schema, depth+1), Rules: r.rulesOf(s)})
	case "string":
		if enum := enumOf(s); enum != nil {
			return r.share(&Type{Kinds: kinds, Enum: enum})
		}
	}
	if rules := r.rulesOf(s); rules != nil {
		return r.share(&Type{Kinds: kinds, Rules: rules})
	}
	return simple(kinds)
}

// rulesOf returns the Rules of a schema; nil = none.
func (r *reader) rulesOf(s *apiextensionsv1.JSONSchemaProps) *Rules {
	if !r.rules {
		return nil
	}
	rules := &Rules{Required: requiredOf(s), Set: s.XListType != nil && *s.XListType == "set"}
	if s.XListType != nil && *s.XListType == "map" {
		rules.Keys = s.XListMapKeys
	}
	if slices.Contains([]string{"int32", "byte", "date-time"}, s.Format) {
		rules.Format = s.Format
	}
	if rules.Format == "" && !rules.Set && len(rules.Required)+len(rules.Keys) == 0 {
		return nil
	}
	return rules
}

// object returns the type of a map, including the fields that the server adds to embedded objects.
func (r *reader) object(s *apiextensionsv1.JSONSchemaProps, kinds JSONTypes, depth int) *Type {
	open := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	more := s.AdditionalProperties
	if len(s.Properties) == 0 && more != nil && more.Schema != nil {
		return r.share(&Type{Kinds: kinds, Items: r.read(more.Schema, depth+1)})
	}
	open = open || more != nil && more.Allows || addsFields(s)
	if len(s.Properties) == 0 && !s.XEmbeddedResource && (open || !r.structural) {
		return simple(kinds)
	}
	t := &Type{Kinds: kinds, Open: open, Fields: make(map[string]Field, len(s.Properties)), Rules: r.rulesOf(s)}
	required := requiredOf(s)
	for name := range s.Properties {
		p := s.Properties[name]
		present := (p.Default != nil || slices.Contains(required, name)) && !p.Nullable
		t.Fields[name] = Field{Type: r.read(&p, depth+1), Present: present}
	}
	if s.XEmbeddedResource {
		t.Fields["apiVersion"] = Field{Type: simple(String), Present: true}
		t.Fields["kind"] = Field{Type: simple(String), Present: true}
		t.Fields["metadata"] = Field{Type: innerMeta}
	}
	return r.share(t)
}

// combined returns the type of a schema whose type is given by its branches.
func (r *reader) combined(s *apiextensionsv1.JSONSchemaProps, depth int) *Type {
	if s.Type != "" || len(s.Properties) > 0 {
		return nil
	}
	// Generated documents use allOf with one $ref to add a description or default to a field.
	if len(s.AllOf) == 1 {
		return r.read(&s.AllOf[0], depth+1)
	}
	var kinds JSONTypes
	branches := slices.Concat(s.AnyOf, s.OneOf)
	for i := range branches {
		kind := kindsOf[branches[i].Type]
		if kind == 0 || kind&(List|Map) != 0 {
			return nil
		}
		kinds |= kind
	}
	if kinds == 0 {
		return nil
	}
	return simple(kinds | nullOf(s))
}

func nullOf(s *apiextensionsv1.JSONSchemaProps) JSONTypes {
	if s.Nullable {
		return Null
	}
	return 0
}

// addsFields reports whether branches of a schema add fields. In structural schemas, they do not.
func addsFields(s *apiextensionsv1.JSONSchemaProps) bool {
	for _, branches := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range branches {
			b := &branches[i]
			if b.Ref != nil || b.XPreserveUnknownFields != nil && *b.XPreserveUnknownFields || addsFields(b) {
				return true
			}
			for name := range b.Properties {
				if _, ok := s.Properties[name]; !ok {
					return true
				}
			}
		}
	}
	return false
}

// requiredOf returns the names of the required fields.
func requiredOf(s *apiextensionsv1.JSONSchemaProps) []string {
	required := s.Required
	for i := range s.AllOf {
		required = slices.Concat(required, s.AllOf[i].Required)
	}
	return required
}

// enumOf returns the allowed strings, or nil for any.
func enumOf(s *apiextensionsv1.JSONSchemaProps) []string {
	var enum []string
	for _, value := range s.Enum {
		if len(value.Raw) == 0 { // null
			continue
		}
		var text string
		if json.Unmarshal(value.Raw, &text) != nil {
			return nil
		}
		enum = append(enum, text)
	}
	return enum
}
