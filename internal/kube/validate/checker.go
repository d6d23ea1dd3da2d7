package validate

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/templater-dev/templater/internal/kube/openapi"
)

// checker checks the values of an object that has the right types.
type checker struct {
	kind   schema.GroupVersionKind
	claims []map[string]any // of a StatefulSet, which are volumes of its Pods
	errs   field.ErrorList
}

func (c *checker) invalid(at *field.Path, v any, detail string) {
	c.errs = append(c.errs, field.Invalid(at, v, detail))
}

func (c *checker) required(at *field.Path, detail string) {
	c.errs = append(c.errs, field.Required(at, detail))
}

// child returns the path of a field.
func child(at *field.Path, name string) *field.Path {
	if at == nil {
		return field.NewPath(name)
	}
	return at.Child(name)
}

// object checks a map with known fields.
func (c *checker) object(t *openapi.Type, content map[string]any, at *field.Path) {
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		if at != nil || name != "status" && name != "metadata" {
			c.field(t, name, content[name], child(at, name))
		}
	}
	if check := objects[t.Name]; check != nil {
		check(c, content, at)
	}
}

// field checks a field of a map. v is nil if it is missing.
func (c *checker) field(t *openapi.Type, name string, v any, at *field.Path) {
	of := t.Fields[name].Type
	if v == nil && (at.String() == "spec" || structs[t.Name+"."+name]) {
		v = map[string]any{}
	}
	if t.Rules != nil && slices.Contains(t.Rules.Required, name) && !optional[t.Name+"."+name] && isEmpty(v) {
		v = c.zero(of, at)
	}
	if v == nil || v == "" || c.kind.Kind == "StatefulSet" && (name == "hostname" || name == "subdomain") { // its controller sets them
		return
	}
	if n, isNumber := v.(int64); isNumber && of != nil && of.Rules != nil && of.Rules.Format == "int32" {
		v = int64(int32(n)) //nolint:gosec // as the server reads it
	}
	before := len(c.errs)
	c.value(of, v, at)
	if check := values[t.Name][name]; check != nil && len(c.errs) == before {
		if detail := check(v); detail != "" {
			c.invalid(at, v, detail)
		}
	}
}

// isEmpty reports whether a value is missing for the server.
func isEmpty(v any) bool {
	list, isList := v.([]any)
	return v == nil || v == "" || isList && len(list) == 0
}

// zero returns what the server reads if a required field is missing. If that is nothing, it adds an error, and returns nil.
func (c *checker) zero(t *openapi.Type, at *field.Path) any {
	switch {
	case t == nil:
	case t.Kinds == openapi.Boolean:
		return false
	case t.Kinds == openapi.Integer || t.Kinds == openapi.Integer|openapi.Number:
		return int64(0)
	case t.Kinds == openapi.Map && t.Name != "LabelSelector":
		return map[string]any{}
	default:
		c.required(at, "")
	}
	return nil
}

func (c *checker) value(t *openapi.Type, v any, at *field.Path) {
	if t == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		c.mapping(t, v, at)
	case []any:
		for i, item := range v {
			c.value(t.Items, item, at.Index(i))
		}
	case string:
		if len(t.Enum) > 0 && !slices.Contains(t.Enum, v) {
			c.errs = append(c.errs, field.NotSupported(at, v, t.Enum))
		}
	}
}

func (c *checker) mapping(t *openapi.Type, content map[string]any, at *field.Path) {
	switch {
	case t.Name == "ObjectMeta":
		c.labels(content["labels"], at.Child("labels"))
		c.errs = append(c.errs, apivalidation.ValidateAnnotations(texts(content["annotations"]), at.Child("annotations"))...)
	case t.Name == "LabelSelector":
		selector := &metav1.LabelSelector{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(content, selector) == nil {
			c.errs = append(c.errs, metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, at)...)
		}
	case t.Fields != nil:
		c.object(t, content, at)
	default:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			c.value(t.Items, content[key], at.Key(key))
		}
	}
}

func (c *checker) labels(v any, at *field.Path) {
	c.errs = append(c.errs, metavalidation.ValidateLabels(texts(v), at)...)
}

// texts returns a map of strings.
func texts(v any) map[string]string {
	content, _ := v.(map[string]any)
	out := make(map[string]string, len(content))
	for key, value := range content {
		out[key], _ = value.(string)
	}
	return out
}

// part returns a map in an object, or nil.
func part(v any, path ...string) map[string]any {
	m, _ := at(v, path...).(map[string]any)
	return m
}

func text(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

// list returns the items of a list that are maps; others are empty maps.
func list(v any, path ...string) []map[string]any {
	items, _ := at(v, path...).([]any)
	out := make([]map[string]any, len(items))
	for i, item := range items {
		out[i], _ = item.(map[string]any)
	}
	return out
}

func at(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// number returns a whole number, and whether there is one.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		return int64(v), v == float64(int64(v))
	}
	return 0, false
}

// unique reports items of a list that have the same value of a field.
func (c *checker) unique(items []map[string]any, name string, at *field.Path) {
	seen := map[string]bool{}
	for i, item := range items {
		v := item[name]
		if isEmpty(v) {
			continue
		}
		if key := fmt.Sprint(v); seen[key] {
			c.errs = append(c.errs, field.Duplicate(at.Index(i).Child(name), v))
		} else {
			seen[key] = true
		}
	}
}
