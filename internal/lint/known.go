package lint

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Known holds the schemas of kinds: built-in kinds, and kinds that files define. It is safe for concurrent use.
type Known struct {
	Schemas openapi.Set
	Kinds   kind.Declared

	defined    openapi.Set       // from files
	unread     []*manifest.Error // definitions that cannot be read
	unreadable []*manifest.Error // see AddUnreadable
}

// Know reads the definitions of kinds. The error is a [*manifest.Error].
func Know(sets ...*manifest.Set) (*Known, error) {
	known := LoadReadableSchemas(sets...)
	if len(known.unread) > 0 {
		return nil, known.unread[0]
	}
	return known, nil
}

// LoadReadableSchemas is like Know, but skips definitions that cannot be read: Check reports them.
func LoadReadableSchemas(sets ...*manifest.Set) *Known {
	known := &Known{}
	var schemas []openapi.Set
	for _, set := range sets {
		for _, o := range set.CRDs {
			definition, err := read(o)
			if err != nil {
				known.unread = append(known.unread, err)
				continue
			}
			schemas = append(schemas, openapi.FromCRD(definition))
			known.Kinds = append(known.Kinds, o.Content)
		}
	}
	known.defined = openapi.Join(schemas...)
	known.Ask(nil)
	return known
}

// AddUnreadable adds errors of files that could not be read, for Check to report. Call it before Check.
func (k *Known) AddUnreadable(faults ...*manifest.Error) {
	k.unreadable = append(k.unreadable, faults...)
}

// Ask sets a fallback for kinds that files do not define, such as the schemas of a cluster; nil = none. Call it before Check.
func (k *Known) Ask(set openapi.Set) { k.Schemas = openapi.Join(k.defined, set, openapi.BuiltIn()) }

// read reads a definition with self-contained schemas.
func read(o *manifest.Object) (*apiextensionsv1.CustomResourceDefinition, *manifest.Error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content, definition); err != nil {
		return nil, &manifest.Error{File: o.File, Line: o.Line, Message: "invalid CustomResourceDefinition: " + problem.Line(err.Error())}
	}
	for _, version := range definition.Spec.Versions {
		if version.Schema != nil && refers(version.Schema.OpenAPIV3Schema) {
			return nil, &manifest.Error{File: o.File, Line: o.Line, Message: fmt.Sprintf("the schema of CustomResourceDefinition %s has a $ref, which the API server rejects: write out the referenced schema, or x-kubernetes-preserve-unknown-fields: true for a recursive one", definition.Name)}
		}
	}
	return definition, nil
}

// refers reports whether a schema contains a $ref.
func refers(s *apiextensionsv1.JSONSchemaProps) bool {
	if s == nil {
		return false
	}
	if s.Ref != nil || s.Items != nil && refers(s.Items.Schema) || s.AdditionalProperties != nil && refers(s.AdditionalProperties.Schema) || refers(s.Not) {
		return true
	}
	for _, parts := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range parts {
			if refers(&parts[i]) {
				return true
			}
		}
	}
	for _, properties := range []map[string]apiextensionsv1.JSONSchemaProps{s.Properties, s.PatternProperties} {
		for _, p := range properties {
			if refers(&p) {
				return true
			}
		}
	}
	return false
}
