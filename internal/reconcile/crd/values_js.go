package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateValues accepts all defaults and CEL rules: the code that checks them would make the page of the playground half as large again.
func validateValues(*structuralschema.Structural, *apiextensions.JSONSchemaProps, *field.Path) field.ErrorList {
	return nil
}
