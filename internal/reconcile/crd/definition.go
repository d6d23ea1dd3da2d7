package crd

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	specs "github.com/templater-dev/templater/internal/reconcile/spec"
)

// Resource is the resource of CustomResourceDefinitions.
var Resource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// Of returns the CustomResourceDefinition of a spec with crd, and all errors that can be found without an API server: with errors, only the
// parts that are valid. It is complete: the API server adds nothing to its spec.
func Of(name string, spec *v1.TemplateControllerSpec) (definition *apiextensionsv1.CustomResourceDefinition, errs field.ErrorList) {
	at := field.NewPath("spec", "crd")
	defer func() {
		if recover() != nil { // the API server recovers from panics of the code that validates schemas, too
			definition, errs = nil, field.ErrorList{field.Invalid(at, field.OmitValueType{}, "the schema cannot be checked: it makes the validation of the API server fail")}
		}
	}()
	definition, errs = of(name, spec, at)
	if len(errs) == 0 && hasNull(Plain(definition.Spec)) {
		errs = field.ErrorList{field.Invalid(schemaPath(spec.CRD, at), field.OmitValueType{}, "a default, enum or example contains null, which the API server drops when the CustomResourceDefinition is updated: remove it")}
	}
	return definition, errs
}

func of(name string, spec *v1.TemplateControllerSpec, at *field.Path) (*apiextensionsv1.CustomResourceDefinition, field.ErrorList) {
	gv, err := schema.ParseGroupVersion(spec.Watch.APIVersion)
	if err != nil || gv.Group == "" {
		return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "watch", "apiVersion"), spec.Watch.APIVersion, "a CustomResourceDefinition needs an API group, as in example.org/v1")}
	}
	if _, err := (kind.Declared{}).Resolve(gv.WithKind(spec.Watch.Kind)); err == nil {
		return nil, field.ErrorList{field.Invalid(at, field.OmitValueType{}, spec.Watch.Kind+" is a built-in kind: remove crd")}
	}
	if gv.Group == v1.GroupVersion.Group {
		return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "watch", "apiVersion"), spec.Watch.APIVersion, "templater's own API group cannot be used with crd: choose another one, as in example.org/v1")}
	}
	if !strings.Contains(gv.Group, ".") {
		return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "watch", "apiVersion"), spec.Watch.APIVersion, "the API group of a CustomResourceDefinition needs at least one dot, as in example.org/v1")}
	}
	if size := sizeOf(spec.CRD); size > maxSize {
		return nil, field.ErrorList{field.Invalid(schemaPath(spec.CRD, at), field.OmitValueType{}, fmt.Sprintf("the schema has %d bytes; the limit is %d: use x-kubernetes-preserve-unknown-fields, or maintain the CustomResourceDefinition in a file", size, maxSize))}
	}
	root, columns, errs := rootSchema(spec.CRD, at)
	addStatus(root)
	names := namesOf(spec)
	if names.ListKind == names.Kind {
		errs = append(errs, field.Invalid(at.Child("names", "listKind"), names.ListKind, "must not be the kind itself"))
	}
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: gv.Version, Served: true, Storage: true,
		Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
		Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
	}
	if scale := spec.CRD.Scale; scale != nil {
		version.Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: scale.SpecReplicas, StatusReplicasPath: scale.StatusReplicas}
		if scale.Selector != "" {
			version.Subresources.Scale.LabelSelectorPath = &scale.Selector
		}
		errs = append(errs, checkPaths(root, scale, at.Child("scale"))...)
	}
	var wrong field.ErrorList
	version.AdditionalPrinterColumns, wrong = columnsOf(root, spec, columns, at.Child("columns"))
	errs = append(errs, wrong...)
	if len(errs) == 0 {
		errs = validate(root, schemaPath(spec.CRD, at))
	}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: names.Plural + "." + gv.Group, Labels: map[string]string{v1.LabelController: name, v1.LabelManagedBy: v1.ManagedBy}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gv.Group, Names: names, Scope: apiextensionsv1.ResourceScope(cmp.Or(spec.CRD.Scope, v1.NamespacedScope)),
			Versions:   []apiextensionsv1.CustomResourceDefinitionVersion{version},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter},
		},
	}, errs
}

// maxSize is the size limit of a schema as written, in bytes.
const maxSize = 256 << 10

func sizeOf(c *v1.CRD) (size int) {
	if s := c.Schema; s != nil {
		for _, part := range []*apiextensionsv1.JSON{s.Spec, s.Status, s.Types} {
			if part != nil {
				size += len(part.Raw)
			}
		}
	}
	if c.OpenAPIV3Schema != nil {
		size += len(c.OpenAPIV3Schema.Raw)
	}
	return size
}

// hasNull returns whether a JSON value contains null.
func hasNull(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), hasNull)
	case []any:
		return slices.ContainsFunc(value, hasNull)
	}
	return false
}

// Hash returns the hash of the schema of a CustomResourceDefinition with one version, for allowBreaking.
func Hash(definition *apiextensionsv1.CustomResourceDefinition) string {
	text, err := json.Marshal(Plain(definition.Spec.Versions[0].Schema))
	if err != nil {
		panic(err) // it consists of JSON values
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Plain returns a part of a CustomResourceDefinition as JSON values. Parts that mean the same are equal.
func Plain(part any) (out any) {
	text, err := json.Marshal(part)
	if err == nil {
		err = utiljson.Unmarshal(text, &out) // integers are int64
	}
	if err != nil {
		panic(err) // all types of a CustomResourceDefinition can be marshaled, and its raw values have been parsed
	}
	return whole(out)
}

// whole replaces floats in JSON values by integers where they are equal, as the API server does: 1.0 becomes 1.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, item := range value {
			value[name] = whole(item)
		}
	case []any:
		for i, item := range value {
			value[i] = whole(item)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
	}
	return value
}

// Manifest returns a CustomResourceDefinition to apply.
func Manifest(definition *apiextensionsv1.CustomResourceDefinition) map[string]any {
	metadata := map[string]any{"name": definition.Name}
	if len(definition.Labels) > 0 {
		metadata["labels"] = Plain(definition.Labels)
	}
	return map[string]any{"apiVersion": definition.APIVersion, "kind": definition.Kind, "metadata": metadata, "spec": Plain(definition.Spec)}
}

// namesOf returns the names of the kind, with the defaults of kubebuilder.
func namesOf(spec *v1.TemplateControllerSpec) apiextensionsv1.CustomResourceDefinitionNames {
	names, kindName := spec.CRD.Names, spec.Watch.Kind
	return apiextensionsv1.CustomResourceDefinitionNames{
		Plural:   cmp.Or(names.Plural, kind.Plural(kindName)),
		Singular: cmp.Or(names.Singular, strings.ToLower(kindName)),
		Kind:     kindName, ListKind: cmp.Or(names.ListKind, kindName+"List"),
		ShortNames: names.ShortNames, Categories: names.Categories,
	}
}

// schemaPath returns the place of the schema in the spec.
func schemaPath(c *v1.CRD, at *field.Path) *field.Path {
	if c.OpenAPIV3Schema != nil {
		return at.Child("openAPIV3Schema")
	}
	return at.Child("schema")
}

// rootSchema returns the schema of the parents, and the columns of printColumn markers.
func rootSchema(c *v1.CRD, at *field.Path) (*apiextensionsv1.JSONSchemaProps, []v1.CRDColumn, field.ErrorList) {
	root := &apiextensionsv1.JSONSchemaProps{Type: "object"}
	switch {
	case (c.Schema == nil) == (c.OpenAPIV3Schema == nil):
		return root, nil, field.ErrorList{field.Invalid(at, field.OmitValueType{}, "set either schema or openAPIV3Schema")}
	case c.Schema != nil:
		return expand(c.Schema, at.Child("schema"))
	}
	decoder := json.NewDecoder(bytes.NewReader(c.OpenAPIV3Schema.Raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(root); err != nil {
		return &apiextensionsv1.JSONSchemaProps{Type: "object"}, nil, field.ErrorList{field.Invalid(at.Child("openAPIV3Schema"), field.OmitValueType{}, problem.Line(strings.TrimPrefix(err.Error(), "json: ")))}
	}
	return root, nil, nil
}

// addStatus adds the fields of .status that each TemplateController can write, unless the schema has them.
func addStatus(root *apiextensionsv1.JSONSchemaProps) {
	if root.Properties == nil {
		root.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	status := root.Properties["status"]
	status.Type, status.Description = cmp.Or(status.Type, "object"), cmp.Or(status.Description, "Written by templater.")
	status.Default = nil // the API server removes it from new objects
	if status.Properties == nil {
		status.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	for name, field := range map[string]apiextensionsv1.JSONSchemaProps{
		"conditions":         conditions(),
		"observedGeneration": {Description: "The metadata.generation that the status is for.", Type: "integer", Format: "int64"},
	} {
		if _, found := status.Properties[name]; !found {
			status.Properties[name] = field
		}
	}
	root.Properties["status"] = status
}

// conditions is the schema of .status.conditions.
func conditions() apiextensionsv1.JSONSchemaProps {
	text := func(most int64) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: &most}
	}
	return apiextensionsv1.JSONSchemaProps{
		Description: "Ready is True when all children match the spec and are ready.",
		Type:        "array", XListType: new("map"), XListMapKeys: []string{"type"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Required: []string{"type", "status", "lastTransitionTime", "reason", "message"},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"type": text(316), "reason": text(1024), "message": text(32768),
				"status":             {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"True"`)}, {Raw: []byte(`"False"`)}, {Raw: []byte(`"Unknown"`)}}},
				"observedGeneration": {Type: "integer", Format: "int64", Minimum: new(float64)},
				"lastTransitionTime": {Type: "string", Format: "date-time"},
			},
		}},
	}
}

// columnsOf returns the columns of kubectl get: Ready, those of the author, and Age. An author's column replaces another one of its name.
func columnsOf(root *apiextensionsv1.JSONSchemaProps, spec *v1.TemplateControllerSpec, marked []v1.CRDColumn, at *field.Path) ([]apiextensionsv1.CustomResourceColumnDefinition, field.ErrorList) {
	own := spec.CRD.Columns
	all := slices.DeleteFunc(slices.Clone(marked), func(c v1.CRDColumn) bool {
		return slices.ContainsFunc(own, func(other v1.CRDColumn) bool { return strings.EqualFold(other.Name, c.Name) })
	})
	all = append(all, own...)
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(c v1.CRDColumn) bool { return strings.EqualFold(c.Name, name) })
	}
	if ready := specs.ReadyCondition(spec); ready != "" && !has("Ready") {
		all = append([]v1.CRDColumn{{Name: "Ready", JSONPath: fmt.Sprintf(".status.conditions[?(@.type==%q)].status", ready)}}, all...)
	}
	if !has("Age") {
		all = append(all, v1.CRDColumn{Name: "Age", JSONPath: ".metadata.creationTimestamp", Type: "date"})
	}
	out := make([]apiextensionsv1.CustomResourceColumnDefinition, len(all))
	var errs field.ErrorList
	for i, c := range all {
		found, err := typeAt(root, c.JSONPath)
		if err = cmp.Or(checkColumn(c.JSONPath), err); err != nil {
			errs = append(errs, field.Invalid(at.Key(c.Name).Child("jsonPath"), c.JSONPath, err.Error()))
		}
		out[i] = apiextensionsv1.CustomResourceColumnDefinition{Name: c.Name, JSONPath: c.JSONPath, Type: cmp.Or(c.Type, found), Description: c.Description, Priority: c.Priority}
	}
	return out, errs
}
