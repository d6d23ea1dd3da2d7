package openapi

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// podKind returns a CustomResourceDefinition with a complete, inlined Pod template, as generators write it. It is about as large
// as definitions get in practice.
func podKind(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := gunzip(builtInText)
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	root := inline(doc, refPrefix+"io.k8s.api.core.v1.Pod")
	return define(&root)
}

// inline returns the schema of a definition with references inlined, except for recursive ones.
func inline(doc document, ref string) apiextensionsv1.JSONSchemaProps {
	var walk func(*apiextensionsv1.JSONSchemaProps, int)
	walk = func(s *apiextensionsv1.JSONSchemaProps, depth int) {
		if len(s.AllOf) == 1 {
			*s = *s.AllOf[0].DeepCopy()
		}
		if s.Ref != nil {
			name := (*s.Ref)[len(refPrefix):]
			*s = apiextensionsv1.JSONSchemaProps{}
			if err := json.Unmarshal(doc.Components.Schemas[name], s); err != nil {
				panic(err) // the document is embedded in the binary
			}
		}
		for name, p := range s.Properties {
			walk(&p, depth+1)
			s.Properties[name] = p
		}
		if s.Items != nil {
			walk(s.Items.Schema, depth+1)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(s.AdditionalProperties.Schema, depth+1)
		}
	}
	root := apiextensionsv1.JSONSchemaProps{Ref: &ref}
	walk(&root, 0)
	return root
}
