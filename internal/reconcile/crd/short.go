package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/templater-dev/templater/api/v1"
)

// maxFields is the maximum number of fields of a schema, after types are expanded.
const maxFields = 10_000

const (
	maxExpanded     = 1 << 20 // bytes of all markers, after types are expanded
	maxSchemaErrors = 20      // that are reported
)

// short expands a schema in short form. It is kro's SimpleSchema, as described at https://kro.run/api/specifications/simple-schema.
type short struct {
	types   map[string]any
	typesAt *field.Path
	seen    map[string]bool // types that have been expanded
	open    []string        // types that are being expanded
	fields  int
	size    int  // of markers
	long    bool // size is too large
	columns []v1.CRDColumn
	errs    field.ErrorList
}

// expand returns the schema of spec and status, and the columns of printColumn markers.
func expand(s *v1.ShortSchema, at *field.Path) (*apiextensionsv1.JSONSchemaProps, []v1.CRDColumn, field.ErrorList) {
	e := &short{typesAt: at.Child("types"), seen: map[string]bool{}}
	root := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	e.types = e.decode(s.Types, e.typesAt)
	if s.Spec != nil {
		spec := e.object(e.decode(s.Spec, at.Child("spec")), at.Child("spec"), ".spec")
		if root.Properties["spec"] = spec; len(spec.Required) > 0 {
			root.Required = []string{"spec"} // otherwise, an object without it would lack required fields
		}
	}
	if s.Status != nil {
		root.Properties["status"] = e.object(e.decode(s.Status, at.Child("status")), at.Child("status"), ".status")
	}
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		e.checkTypeName(name, e.typesAt.Child(name))
		if !e.seen[name] { // an unused type
			e.typed(name, e.typesAt.Child(name), "")
		}
	}
	return root, e.columns, e.errs
}

func (e *short) decode(raw *apiextensionsv1.JSON, at *field.Path) map[string]any {
	if raw == nil {
		return nil
	}
	var out map[string]any
	if err := json.Unmarshal(raw.Raw, &out); err != nil {
		e.errs = append(e.errs, field.Invalid(at, field.OmitValueType{}, "must be a mapping"))
	}
	return out
}

// basicTypes are the names of types that cannot be redefined.
var basicTypes = []string{"string", "integer", "boolean", "float", "object"}

func (e *short) checkTypeName(name string, at *field.Path) {
	switch {
	case slices.Contains(basicTypes, name):
		e.fail(at, fmt.Errorf("%s is a basic type: rename this type", name))
	case name == "" || strings.ContainsAny(name, " |[]="):
		e.fail(at, errors.New("the name of a type must not have spaces, brackets, | or ="))
	}
}

// fail adds an error. A type that is used twice reports its errors once.
func (e *short) fail(at *field.Path, err error) {
	invalid := field.Invalid(at, field.OmitValueType{}, err.Error())
	if !slices.ContainsFunc(e.errs, func(other *field.Error) bool { return other.Error() == invalid.Error() }) {
		e.errs = append(e.errs, invalid)
	}
}

// object returns the schema of a mapping of fields. path is their place in the parent; "" = inside a list, a map or an unused type.
func (e *short) object(fields map[string]any, at *field.Path, path string) apiextensionsv1.JSONSchemaProps {
	out := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	defaults := false
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below := ""
		if path != "" {
			below = path + "." + name
		}
		child := e.value(fields[name], at.Child(name), name, &out, below)
		out.Properties[name] = child
		defaults = defaults || child.Default != nil
	}
	// Without this, the defaults inside would not apply to an object that is not set. The API server rejects it beside required fields.
	if defaults && len(out.Required) == 0 {
		out.Default = &apiextensionsv1.JSON{Raw: []byte("{}")}
	}
	return out
}

// value returns the schema of a field: a type with markers, or a mapping. If it is required, it is added to in.
func (e *short) value(value any, at *field.Path, name string, in *apiextensionsv1.JSONSchemaProps, path string) apiextensionsv1.JSONSchemaProps {
	if e.full(at) {
		return apiextensionsv1.JSONSchemaProps{Type: "object"}
	}
	switch value := value.(type) {
	case map[string]any:
		return e.object(value, at, path)
	case string:
		return e.text(value, at, name, in, path)
	}
	e.fail(at, errors.New("must be a type, such as string, or a mapping of fields; a list of strings is \"[]string\""))
	return apiextensionsv1.JSONSchemaProps{Type: "object"}
}

// text returns the schema of a field whose value is a type with markers.
func (e *short) text(value string, at *field.Path, name string, in *apiextensionsv1.JSONSchemaProps, path string) apiextensionsv1.JSONSchemaProps {
	typeName, all, err := split(value)
	if err != nil {
		e.fail(at, err)
		return apiextensionsv1.JSONSchemaProps{Type: "object"}
	}
	out, required := e.typed(typeName, at, path)
	for _, m := range all {
		if e.lengthen(at, m); e.long || len(e.errs) >= maxSchemaErrors {
			break
		}
		if m.name == "required" {
			var err error
			if required, err = parseBool(m.value); err != nil {
				e.fail(at, fmt.Errorf("marker required: %w", err))
			}
			continue
		}
		if err := e.mark(&out, m, path); err != nil {
			e.fail(at, err)
		}
	}
	if required && in != nil {
		in.Required = append(in.Required, name)
	}
	return out
}

// full counts a field, and reports whether to stop: there are too many of them, their markers are too long, or there are enough errors.
func (e *short) full(at *field.Path) bool {
	if e.fields++; e.fields == maxFields+1 {
		e.fail(at, fmt.Errorf("the schema has more than %d fields after its types are expanded: use object for some of them", maxFields))
	}
	return e.fields > maxFields || e.long || len(e.errs) >= maxSchemaErrors
}

// lengthen counts the length of a marker.
func (e *short) lengthen(at *field.Path, m marker) {
	if e.size += len(m.value); e.size > maxExpanded && !e.long {
		e.long = true
		e.fail(at, fmt.Errorf("the markers have more than %d bytes after types are expanded: shorten them", maxExpanded))
	}
}

// typed returns the schema of a type, and whether fields of that type are required.
func (e *short) typed(name string, at *field.Path, path string) (out apiextensionsv1.JSONSchemaProps, required bool) {
	switch name {
	case "string", "integer", "boolean":
		return apiextensionsv1.JSONSchemaProps{Type: name}, false
	case "float":
		return apiextensionsv1.JSONSchemaProps{Type: "number"}, false
	case "object":
		return apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}, false
	}
	if e.full(at) {
		return apiextensionsv1.JSONSchemaProps{Type: "object"}, false
	}
	if items, found := strings.CutPrefix(name, "[]"); found {
		of, _ := e.typed(items, at, "")
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: inside(of)}}, false
	}
	if rest, found := strings.CutPrefix(name, "map["); found {
		key, values, closed := strings.Cut(rest, "]")
		if !closed || key != "string" {
			e.fail(at, fmt.Errorf("%s: write a map as map[string]TYPE", quoteShort(name)))
			return apiextensionsv1.JSONSchemaProps{Type: "object"}, false
		}
		of, _ := e.typed(values, at, "")
		return apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: inside(of)}}, false
	}
	body, found := e.types[name]
	switch {
	case !found:
		known := append(slices.Sorted(maps.Keys(e.types)), append([]string{"[]string", "map[string]string"}, basicTypes...)...)
		err := unknownName("type", name, known)
		if name == "number" {
			err = errors.New("unknown type \"number\"; did you mean float?")
		}
		e.fail(at, err)
		return apiextensionsv1.JSONSchemaProps{Type: "object"}, false
	case slices.Contains(e.open, name):
		e.fail(at, fmt.Errorf("type %s contains itself: %s; use object where it recurs", name, strings.Join(append(e.open[slices.Index(e.open, name):], name), " → ")))
		return apiextensionsv1.JSONSchemaProps{Type: "object"}, false
	}
	e.seen[name] = true
	e.open = append(e.open, name)
	defer func() { e.open = e.open[:len(e.open)-1] }()
	holder := apiextensionsv1.JSONSchemaProps{}
	out = e.value(body, e.typesAt.Child(name), name, &holder, path)
	return out, len(holder.Required) > 0
}

// inside returns the schema of an item: its default does not apply to a list or map, and the API server rejects one.
func inside(of apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	of.Default = nil
	return &of
}

// markerOf is what a marker does, and the types that it is for; "" = all.
type markerOf struct {
	fits  string
	apply func(out *apiextensionsv1.JSONSchemaProps, value string) error
}

// markers are the markers of SimpleSchema, except required and printColumn, which concern more than their field.
var markers = map[string]markerOf{
	"description": {"", func(out *apiextensionsv1.JSONSchemaProps, value string) error { out.Description = value; return nil }},
	"default":     {"", setDefault},
	"enum":        {"strings and integers", setEnum},
	"validation": {"", func(out *apiextensionsv1.JSONSchemaProps, value string) error {
		if strings.TrimSpace(value) == "" {
			return errors.New("the CEL expression is missing")
		}
		out.XValidations = append(out.XValidations, apiextensionsv1.ValidationRule{Rule: value})
		return nil
	}},
	"immutable": {"", whenTrue(func(out *apiextensionsv1.JSONSchemaProps) error {
		out.XValidations = append(out.XValidations, apiextensionsv1.ValidationRule{Rule: "self == oldSelf", Message: "field is immutable"})
		return nil
	})},
	"pattern":     {"strings", func(out *apiextensionsv1.JSONSchemaProps, value string) error { out.Pattern = value; return nil }},
	"minLength":   {"strings", integer(func(out *apiextensionsv1.JSONSchemaProps) **int64 { return &out.MinLength })},
	"maxLength":   {"strings", integer(func(out *apiextensionsv1.JSONSchemaProps) **int64 { return &out.MaxLength })},
	"minItems":    {"lists", integer(func(out *apiextensionsv1.JSONSchemaProps) **int64 { return &out.MinItems })},
	"maxItems":    {"lists", integer(func(out *apiextensionsv1.JSONSchemaProps) **int64 { return &out.MaxItems })},
	"minimum":     {"numbers", number(func(out *apiextensionsv1.JSONSchemaProps) **float64 { return &out.Minimum })},
	"maximum":     {"numbers", number(func(out *apiextensionsv1.JSONSchemaProps) **float64 { return &out.Maximum })},
	"uniqueItems": {"lists", whenTrue(setUnique)},
}

// typesOf are the types that a marker is for.
var typesOf = map[string][]string{
	"strings": {"string"}, "lists": {"array"}, "numbers": {"integer", "number"}, "strings and integers": {"string", "integer"},
	"strings, numbers and booleans": {"string", "integer", "number", "boolean"},
}

// mark applies a marker other than required.
func (e *short) mark(out *apiextensionsv1.JSONSchemaProps, m marker, path string) error {
	of, known := markers[m.name]
	if m.name == "printColumn" {
		known, of = true, markerOf{"strings, numbers and booleans", func(_ *apiextensionsv1.JSONSchemaProps, value string) error {
			if path != "" {
				e.columns = append(e.columns, v1.CRDColumn{Name: value, JSONPath: path})
			}
			return nil
		}}
	}
	if !known {
		return unknownName("marker", m.name, append(slices.Sorted(maps.Keys(markers)), "required", "printColumn"))
	}
	if of.fits != "" && !slices.Contains(typesOf[of.fits], out.Type) {
		return fmt.Errorf("marker %s does not apply to type %s: it is for %s", m.name, shown(out), of.fits)
	}
	if err := of.apply(out, m.value); err != nil {
		return fmt.Errorf("marker %s: %w", m.name, err)
	}
	return nil
}

// whenTrue applies a marker whose value is true or false.
func whenTrue(apply func(*apiextensionsv1.JSONSchemaProps) error) func(*apiextensionsv1.JSONSchemaProps, string) error {
	return func(out *apiextensionsv1.JSONSchemaProps, value string) error {
		yes, err := parseBool(value)
		if err != nil || !yes {
			return err
		}
		return apply(out)
	}
}

func parseBool(value string) (bool, error) {
	yes, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s is neither true nor false", quoteShort(value))
	}
	return yes, nil
}

// integer sets a number that is not negative.
func integer(field func(*apiextensionsv1.JSONSchemaProps) **int64) func(*apiextensionsv1.JSONSchemaProps, string) error {
	return func(out *apiextensionsv1.JSONSchemaProps, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s is not a non-negative integer", quoteShort(value))
		}
		*field(out) = &n
		return nil
	}
}

func number(field func(*apiextensionsv1.JSONSchemaProps) **float64) func(*apiextensionsv1.JSONSchemaProps, string) error {
	return func(out *apiextensionsv1.JSONSchemaProps, value string) error {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("%s is not a number", quoteShort(value))
		}
		*field(out) = &n
		return nil
	}
}

func setUnique(out *apiextensionsv1.JSONSchemaProps) error {
	if of := out.Items.Schema; of.Type == "object" || of.Type == "array" {
		return errors.New("it is for lists of strings, numbers and booleans: use openAPIV3Schema with x-kubernetes-list-type: map")
	}
	out.XListType = new("set")
	return nil
}

// shown returns the name of a type in short form.
func shown(s *apiextensionsv1.JSONSchemaProps) string {
	switch s.Type {
	case "number":
		return "float"
	case "array":
		return "list"
	}
	return s.Type
}

// setDefault sets the default: the text of a string, and otherwise JSON.
func setDefault(out *apiextensionsv1.JSONSchemaProps, value string) error {
	raw := []byte(value)
	if out.Type == "string" {
		raw, _ = json.Marshal(value)
	}
	if !json.Valid(raw) || string(raw) == "null" {
		return fmt.Errorf("%s is not a value of type %s; write lists and objects as JSON", quoteShort(value), shown(out))
	}
	out.Default = &apiextensionsv1.JSON{Raw: raw}
	return nil
}

// setEnum sets the allowed values, which are separated by commas.
func setEnum(out *apiextensionsv1.JSONSchemaProps, values string) error {
	out.Enum = nil
	for value := range strings.SplitSeq(values, ",") {
		value = strings.TrimSpace(value)
		raw, _ := json.Marshal(value)
		if out.Type == "integer" {
			if _, err := strconv.ParseInt(value, 10, 64); err != nil {
				return fmt.Errorf("%s is not an integer", quoteShort(value))
			}
			raw = []byte(value)
		}
		if value == "" {
			return errors.New("a value is empty")
		}
		out.Enum = append(out.Enum, apiextensionsv1.JSON{Raw: raw})
	}
	return nil
}
