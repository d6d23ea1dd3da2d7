package types

import (
	"cmp"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/funcs"
)

// Compare compares two constants of the same kind, or returns false if their order is unknown.
func Compare(a, b any) (order int, known bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), true
		}
	case int64, float64:
		if KindOf(b)&Numeric != 0 {
			return funcs.CompareNumbers(a, b), true
		}
	case bool:
		if b, ok := b.(bool); ok && a == b {
			return 0, true
		} else if ok {
			return 1, true
		}
	}
	return 0, false
}

// kindNames are the kinds as kindOf and typeOf tell them. A whole number may be either kind of number, whatever its schema says.
var kindNames = []struct {
	kinds        openapi.JSONTypes
	name, goType string
}{
	{openapi.String, "string", "string"}, {openapi.Boolean, "bool", "bool"}, {Numeric, "int64", "int64"}, {Numeric, "float64", "float64"},
	{openapi.List, "slice", "[]interface {}"}, {openapi.Map, "map", "map[string]interface {}"},
}

// KindNames returns the possible results of kindOf, or of typeOf if types is true, for a value; none = any.
func KindNames(v *Value, types bool) (names []string) {
	for _, k := range kindNames {
		_, whole := v.Literal.(int64)
		_, broken := v.Literal.(float64)
		if v.Kinds&k.kinds == 0 || whole && k.name == "float64" || broken && k.name == "int64" {
			continue
		}
		if types {
			names = append(names, k.goType)
		} else {
			names = append(names, k.name)
		}
	}
	return names
}
