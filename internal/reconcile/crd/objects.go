package crd

import (
	"encoding/json"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validator validates objects with the schema of a CustomResourceDefinition. It is safe for concurrent use.
type Validator struct{ rules rules }

// NewValidator returns the Validator of a schema in a CustomResourceDefinition, given as JSON data. It returns an error if the API server would
// refuse the schema.
func NewValidator(schema map[string]any) (*Validator, error) {
	root := &apiextensionsv1.JSONSchemaProps{}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, root); err != nil {
		return nil, err
	}
	s, internal, err := structural(root)
	if err != nil {
		return nil, err
	}
	v := &Validator{}
	return v, v.rules.compile(s, internal)
}

// Validate returns why the API server refuses an object: for an update, before is the stored object. Statuses are not compared with the schema, as
// they have their own requests. It does not modify the objects.
func (v *Validator) Validate(before, after map[string]any) field.ErrorList {
	return v.rules.validate(withoutStatus(before), withoutStatus(after))
}

func withoutStatus(content map[string]any) map[string]any {
	if content == nil {
		return nil
	}
	out := maps.Clone(content)
	delete(out, "status")
	return runtime.DeepCopyJSON(out)
}
