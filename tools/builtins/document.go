package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	refPrefix  = "#/components/schemas/"
	metaSuffix = ".meta.v1.ObjectMeta"
)

// document holds the parts of an OpenAPI document that internal/kube/openapi reads.
type document struct {
	Components struct {
		Schemas map[string]*definition `json:"schemas"`
	} `json:"components"`
	Paths map[string]map[string]operation `json:"paths"`
}

type definition struct {
	apiextensionsv1.JSONSchemaProps

	Kinds []kind `json:"x-kubernetes-group-version-kind,omitempty"`
}

type operation struct {
	Kind kind `json:"x-kubernetes-group-version-kind"`
}

type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func newDocument() *document {
	d := &document{Paths: map[string]map[string]operation{}}
	d.Components.Schemas = map[string]*definition{}
	return d
}

// add reads a file, and keeps the needed parts.
func (d *document) add(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var read struct {
		Components struct {
			Schemas map[string]*definition `json:"schemas"`
		} `json:"components"`
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	for name, found := range read.Components.Schemas {
		found.JSONSchemaProps = *trim(&found.JSONSchemaProps)
		if strings.HasSuffix(name, metaSuffix) {
			found.JSONSchemaProps = apiextensionsv1.JSONSchemaProps{Type: "object"} // known, without a schema
		}
		if earlier := d.Components.Schemas[name]; earlier != nil && !reflect.DeepEqual(earlier.JSONSchemaProps, found.JSONSchemaProps) {
			return errors.New(name + " differs from the definition in an earlier file")
		}
		d.Components.Schemas[name] = found
	}
	for path, operations := range read.Paths {
		for verb, text := range operations {
			var o operation
			if verb == "parameters" || json.Unmarshal(text, &o) != nil || o.Kind.Kind == "" {
				continue
			}
			d.Paths[path] = map[string]operation{"get": o}
		}
	}
	return nil
}

// trim returns the type information of a schema.
func trim(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s == nil {
		return nil
	}
	out := &apiextensionsv1.JSONSchemaProps{
		Ref:                    s.Ref,
		Type:                   s.Type,
		Format:                 s.Format,
		XListType:              s.XListType,
		XListMapKeys:           s.XListMapKeys,
		Nullable:               s.Nullable,
		Required:               s.Required,
		Enum:                   s.Enum,
		XPreserveUnknownFields: s.XPreserveUnknownFields,
		XIntOrString:           s.XIntOrString,
		AllOf:                  trimAll(s.AllOf),
		AnyOf:                  trimAll(s.AnyOf),
		OneOf:                  trimAll(s.OneOf),
	}
	if s.Default != nil {
		out.Default = &apiextensionsv1.JSON{Raw: []byte("0")} // only its presence matters
	}
	if s.Items != nil && s.Items.Schema != nil {
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: trim(s.Items.Schema)}
		out.Items.Schema.Default = nil
	}
	if more := s.AdditionalProperties; more != nil {
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: more.Allows, Schema: trim(more.Schema)}
	}
	for name, p := range s.Properties {
		if out.Properties == nil {
			out.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		out.Properties[name] = *trim(&p)
	}
	return out
}

func trimAll(all []apiextensionsv1.JSONSchemaProps) []apiextensionsv1.JSONSchemaProps {
	var out []apiextensionsv1.JSONSchemaProps
	for i := range all {
		out = append(out, *trim(&all[i]))
	}
	return out
}

// cut drops the definitions that no kind needs, and all paths except those that determine whether a kind is namespaced.
func (d *document) cut() {
	kept := map[string]*definition{}
	kinds := map[kind]bool{}
	for name, s := range d.Components.Schemas {
		if s.describesObjects() {
			kinds[s.Kinds[0]] = true
			d.keep(name, kept)
		}
	}
	d.Components.Schemas = kept
	paths := map[kind]string{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		k := d.Paths[path]["get"].Kind
		if kinds[k] && (paths[k] == "" || !inNamespaces(paths[k]) && inNamespaces(path)) {
			paths[k] = path
		}
	}
	needed := slices.Collect(maps.Values(paths))
	maps.DeleteFunc(d.Paths, func(path string, _ map[string]operation) bool { return !slices.Contains(needed, path) })
}

func inNamespaces(path string) bool { return strings.Contains(path, "/namespaces/{namespace}/") }

// describesObjects reports whether the definition is of a kind, not of its list or of options.
func (d *definition) describesObjects() bool {
	meta, ok := d.Properties["metadata"]
	return len(d.Kinds) == 1 && ok && len(meta.AllOf) == 1 && strings.HasSuffix(*meta.AllOf[0].Ref, metaSuffix)
}

// keep adds a definition and those that it refers to to kept.
func (d *document) keep(name string, kept map[string]*definition) {
	s := d.Components.Schemas[name]
	if s == nil || kept[name] != nil {
		return
	}
	kept[name] = s
	d.follow(&s.JSONSchemaProps, kept)
}

func (d *document) follow(s *apiextensionsv1.JSONSchemaProps, kept map[string]*definition) {
	if s == nil {
		return
	}
	if s.Ref != nil {
		d.keep(strings.TrimPrefix(*s.Ref, refPrefix), kept)
	}
	if s.Items != nil {
		d.follow(s.Items.Schema, kept)
	}
	if s.AdditionalProperties != nil {
		d.follow(s.AdditionalProperties.Schema, kept)
	}
	for _, p := range s.Properties {
		d.follow(&p, kept)
	}
	for _, branches := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range branches {
			d.follow(&branches[i], kept)
		}
	}
}
