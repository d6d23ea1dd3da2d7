package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refPrefix is the prefix of each $ref in a document.
const refPrefix = "#/components/schemas/"

// metaSuffix is the suffix of the name of the ObjectMeta definition.
const metaSuffix = ".meta.v1.ObjectMeta"

// maxTextDepth is the maximum nesting of lists and maps in a document or CustomResourceDefinition. Each level of a schema takes up
// to three of its levels. The time for parsing grows with the product of length and depth.
const maxTextDepth = 400

var errTooDeep = fmt.Errorf("not an OpenAPI v3 document: lists and maps are nested more than %d deep", maxTextDepth)

// tooDeep reports whether a JSON text is nested so deep that parsing schemas from it could take long.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case '{', '[':
			if !quoted {
				depth++
			}
		case '}', ']':
			if !quoted {
				depth--
			}
		}
		if depth > maxTextDepth {
			return true
		}
	}
	return false
}

// document is the used part of an OpenAPI v3 document.
type document struct {
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"` // of type definition; parsed one by one, because each takes many times the memory of its text
	} `json:"components"`
	// Paths show which kinds are namespaced.
	Paths map[string]struct {
		Get, Post, Put kindMark
	} `json:"paths"`
}

type definition struct {
	apiextensionsv1.JSONSchemaProps

	Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

type kindMark struct {
	Kind *schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

// FromOpenAPI returns the types of all kinds in an OpenAPI v3 document of an API server, such as the one at
// /openapi/v3/apis/apps/v1. Kinds that are not in the document do not exist in its group versions; other group versions are
// unknown. Identical types are shared. It returns an error if the text is not a valid document.
func FromOpenAPI(text []byte) (Set, error) {
	set, err := fromOpenAPI(text, false)
	if err != nil {
		return nil, err
	}
	versions := map[schema.GroupVersion]bool{}
	for gvk := range set.byKind {
		versions[gvk.GroupVersion()] = true
	}
	set.whole = func(gvk schema.GroupVersionKind) bool { return versions[gvk.GroupVersion()] }
	return set, nil
}

func fromOpenAPI(text []byte, rules bool) (*readSet, error) {
	if tooDeep(text) {
		return nil, errTooDeep
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("not an OpenAPI v3 document: %w", err)
	}
	all := doc.Components.Schemas
	r := &reader{definitions: make(map[string]*Type, len(all)), sharer: newSharer(), rules: rules}
	for name := range all {
		r.definitions[refPrefix+name] = &Type{Name: name[strings.LastIndex(name, ".")+1:]}
	}
	set := &readSet{byKind: map[schema.GroupVersionKind]*Type{}}
	scopes := doc.scopes()
	for name, text := range all {
		var d definition
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("not an OpenAPI v3 document: %w", err)
		}
		gvk, isKind := d.kind()
		custom := name == customName(gvk)
		t := r.definitions[refPrefix+name]
		r.structural = custom && len(d.Properties) > 0
		r.fill(t, name, &d.JSONSchemaProps)
		if isKind {
			set.byKind[gvk] = whole(t, gvk, objectMeta[scopes[gvk]][custom])
		}
	}
	return set, nil
}

// fill parses a definition into t. If the definition is only an alias of another one, t still allows anything.
func (r *reader) fill(t *Type, name string, s *apiextensionsv1.JSONSchemaProps) {
	read := innerMeta
	if !strings.HasSuffix(name, metaSuffix) {
		if s.Ref != nil || s.Type == "" && len(s.AllOf) > 0 {
			return
		}
		if read = r.read(s, 0); read == nil {
			return
		}
	}
	called := t.Name
	*t = *read
	t.Name = called
}

// kind returns the kind of the objects that a definition describes, or false if it describes no such objects: lists have other
// metadata, and the options of requests have many kinds.
func (d *definition) kind() (schema.GroupVersionKind, bool) {
	if len(d.Kinds) != 1 {
		return schema.GroupVersionKind{}, false
	}
	if len(d.Properties) == 0 { // of a custom kind without a schema
		return d.Kinds[0], true
	}
	meta := d.Properties["metadata"]
	if len(meta.AllOf) == 1 {
		meta = meta.AllOf[0]
	}
	return d.Kinds[0], meta.Ref != nil && strings.HasSuffix(*meta.Ref, metaSuffix)
}

// customName returns the name of the definition of a custom kind in a document. Definitions of other kinds are named after their
// Go package.
func customName(gvk schema.GroupVersionKind) string {
	group := strings.Split(gvk.Group, ".")
	slices.Reverse(group)
	return strings.Join(append(group, gvk.Version, gvk.Kind), ".")
}

// scopes returns the scope of the kinds that are in paths.
func (d *document) scopes() map[schema.GroupVersionKind]scope {
	scopes := map[schema.GroupVersionKind]scope{}
	for path, p := range d.Paths {
		in := clusterScoped
		if strings.Contains(path, "/namespaces/{namespace}/") {
			in = namespaced
		}
		for _, mark := range []kindMark{p.Get, p.Post, p.Put} {
			if mark.Kind != nil && scopes[*mark.Kind] != namespaced {
				scopes[*mark.Kind] = in
			}
		}
	}
	return scopes
}
