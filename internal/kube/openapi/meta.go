package openapi

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scope is the scope of a kind.
type scope int

const (
	unknownScope scope = iota
	namespaced
	clusterScoped
)

// objectMeta contains the types of the metadata of API objects, by scope and by whether the kind is custom. Schemas cannot change
// them.
var objectMeta = map[scope]map[bool]*Type{
	unknownScope:  {false: metadata(unknownScope, true, false), true: metadata(unknownScope, true, true)},
	namespaced:    {false: metadata(namespaced, true, false), true: metadata(namespaced, true, true)},
	clusterScoped: {false: metadata(clusterScoped, true, false), true: metadata(clusterScoped, true, true)},
}

// innerMeta is the type of ObjectMeta in embedded objects, such as a Pod template: all its fields are optional.
var innerMeta = metadata(unknownScope, false, false)

// metadata returns the type of ObjectMeta. In API objects (whole), the server always sets the name, UID and similar fields, and
// in custom objects also the generation.
func metadata(in scope, whole, custom bool) *Type {
	text := simple(String)
	owner := &Type{Name: "OwnerReference", Kinds: Map, Fields: map[string]Field{
		"apiVersion":         {text, true},
		"kind":               {text, true},
		"name":               {text, true},
		"uid":                {text, true},
		"controller":         {simple(Boolean), false},
		"blockOwnerDeletion": {simple(Boolean), false},
	}}
	manager := &Type{Name: "ManagedFieldsEntry", Kinds: Map, Fields: map[string]Field{
		"apiVersion":  {text, false},
		"fieldsType":  {text, false},
		"fieldsV1":    {&Type{Kinds: Map}, false},
		"manager":     {text, false},
		"operation":   {text, false},
		"subresource": {text, false},
		"time":        {text, false},
	}}
	fields := map[string]Field{
		"name":                       {text, whole},
		"generateName":               {text, false},
		"selfLink":                   {text, false},
		"uid":                        {text, whole},
		"resourceVersion":            {text, whole},
		"generation":                 {simple(Integer), custom},
		"creationTimestamp":          {text, whole},
		"deletionTimestamp":          {text, false},
		"deletionGracePeriodSeconds": {simple(Integer), false},
		"labels":                     {&Type{Kinds: Map, Items: text}, false},
		"annotations":                {&Type{Kinds: Map, Items: text}, false},
		"ownerReferences":            {&Type{Kinds: List, Items: owner}, false},
		"finalizers":                 {&Type{Kinds: List, Items: text}, false},
		"managedFields":              {&Type{Kinds: List, Items: manager}, false},
	}
	if in != clusterScoped {
		fields["namespace"] = Field{text, in == namespaced}
	}
	return &Type{Name: "ObjectMeta", Kinds: Map, Fields: fields}
}

// Namespaced reports whether objects of a type returned by Lookup are namespaced, and whether that is known.
func (t *Type) Namespaced() (namespaced, known bool) {
	if t == nil || t.Fields["metadata"].Type == nil {
		return false, false
	}
	f, there := t.Fields["metadata"].Type.Fields["namespace"]
	return f.Present, f.Present || !there
}

// whole returns the type of the API objects of a kind, given the type in its schema: the server always sets apiVersion, kind and
// metadata.
func whole(t *Type, gvk schema.GroupVersionKind, meta *Type) *Type {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	out := &Type{Name: kind, Kinds: Map, Fields: map[string]Field{}, Open: t == nil || t.Fields == nil || t.Open}
	if t != nil {
		maps.Copy(out.Fields, t.Fields)
		out.Rules = t.Rules
	}
	out.Fields["apiVersion"] = Field{&Type{Kinds: String, Enum: []string{apiVersion}}, true}
	out.Fields["kind"] = Field{&Type{Kinds: String, Enum: []string{kind}}, true}
	out.Fields["metadata"] = Field{meta, true}
	return out
}
