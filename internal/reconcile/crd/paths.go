package crd

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// step is one step of a JSON path: .name, ['name'], or another one in brackets, such as an index or a filter.
var step = regexp.MustCompile(`^(?:\.([A-Za-z_][-A-Za-z0-9_]*)|\[['"]([^'"]+)['"]\]|\[[^\]]*\])`)

// checkColumn returns why the JSON path of a column is invalid, or nil. The API server accepts more paths, but shows no columns at all if it cannot
// parse one of them.
func checkColumn(path string) error {
	if !strings.HasPrefix(path, ".") {
		return errors.New("must begin with a dot, as in .spec.replicas")
	}
	if err := jsonpath.New("column").Parse("{" + path + "}"); err != nil {
		return fmt.Errorf("is not a JSON path: %w", err)
	}
	return nil
}

// typeAt returns the type of a column for a JSON path. It returns an error if the schema has no such field.
func typeAt(root *apiextensionsv1.JSONSchemaProps, path string) (string, error) {
	if path == ".metadata.creationTimestamp" || path == ".metadata.deletionTimestamp" {
		return "date", nil
	}
	at := root
	for rest, done := path, ""; rest != ""; {
		found := step.FindStringSubmatch(rest)
		if found == nil {
			return "string", nil // which the API server checks
		}
		name := found[1] + found[2]
		if done == "" && (name == "metadata" || name == "kind" || name == "apiVersion") {
			return "string", nil
		}
		next, err := enter(at, name)
		if err != nil {
			return "string", fmt.Errorf("the schema has no field %s%w", done+found[0], err)
		}
		if next == nil {
			return "string", nil // any field
		}
		at, done, rest = next, done+found[0], rest[len(found[0]):]
	}
	switch at.Type {
	case "integer", "number", "boolean":
		return at.Type, nil
	}
	if at.Format == "date-time" {
		return "date", nil
	}
	return "string", nil
}

// enter returns the schema of a field, or of the items if name is empty; nil = it allows anything. The text of an error is a suggestion.
func enter(in *apiextensionsv1.JSONSchemaProps, name string) (*apiextensionsv1.JSONSchemaProps, error) {
	if child, found := in.Properties[name]; found {
		return &child, nil
	}
	switch {
	case in.XPreserveUnknownFields != nil && *in.XPreserveUnknownFields, in.XIntOrString:
		return nil, nil
	case in.AdditionalProperties != nil:
		return in.AdditionalProperties.Schema, nil
	case name == "" && in.Items != nil:
		return in.Items.Schema, nil
	}
	return nil, suggestion(syntax.DidYouMean(syntax.Nearest(name, slices.Sorted(maps.Keys(in.Properties)))))
}

// suggestion is the end of an error message.
type suggestion string

func (s suggestion) Error() string { return string(s) }

// checkPaths checks the fields of the scale subresource.
func checkPaths(root *apiextensionsv1.JSONSchemaProps, scale *v1.CRDScale, at *field.Path) (errs field.ErrorList) {
	for _, p := range []struct{ name, path, wanted string }{
		{"specReplicas", scale.SpecReplicas, "integer"}, {"statusReplicas", scale.StatusReplicas, "integer"}, {"selector", scale.Selector, "string"},
	} {
		if p.path == "" {
			continue
		}
		found, err := typeAt(root, p.path)
		if err == nil && found != p.wanted {
			err = fmt.Errorf("the field is of type %s, but must be of type %s", found, p.wanted)
		}
		if err != nil {
			errs = append(errs, field.Invalid(at.Child(p.name), p.path, err.Error()))
		}
	}
	return errs
}
