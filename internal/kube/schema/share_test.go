package schema

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestWhatIsTheSameIsShared(t *testing.T) {
	definition := shops(t, `{type: object, properties: {
		a: {type: object, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		b: {type: object, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		nullable: {type: object, nullable: true, properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		required: {type: object, required: [l], properties: {l: {type: array, items: {type: string, enum: [x, yz]}}}},
		name: {type: object, properties: {m: {type: array, items: {type: string, enum: [x, yz]}}}},
		enum: {type: object, properties: {l: {type: array, items: {type: string, enum: [xy, z]}}}},
		map: {type: object, properties: {l: {type: object, additionalProperties: {type: string, enum: [x, yz]}}}},
		none: {type: object}}}`)
	definition.Spec.Versions[2].Schema = definition.Spec.Versions[0].Schema.DeepCopy()
	set := FromCRD(definition)
	fields := specOf(t, set).Fields
	if fields["a"].Type != fields["b"].Type {
		t.Error("two that are the same are not shared")
	}
	delete(fields, "b")
	seen := map[*Type]string{}
	for name, f := range fields {
		if other, ok := seen[f.Type]; ok {
			t.Errorf("%s is shared with %s", name, other)
		}
		seen[f.Type] = name
	}
	v2, _ := set.Lookup(shop.GroupKind().WithVersion("v2"))
	if v2.Fields["spec"].Type != specOf(t, set) {
		t.Error("two versions that are the same are not shared")
	}
}

func BenchmarkFromCRD(b *testing.B) {
	definition := podKind(b)
	definition.Spec.Versions = definition.Spec.Versions[:1:1]
	definition.Spec.Scope = apiextensionsv1.NamespaceScoped
	b.ReportAllocs()
	for b.Loop() {
		FromCRD(definition)
	}
}
