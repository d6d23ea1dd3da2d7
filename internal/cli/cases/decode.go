package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// decode decodes a case. Keys are case-sensitive; integers are int64, other numbers float64. The error says what is wrong
// where.
func (c *Case) decode(content []byte) error {
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return errors.New(problem.Line(err.Error()))
	}
	unknown, err := kjson.UnmarshalStrict(text, c, kjson.DisallowUnknownFields)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return fmt.Errorf("%s: unexpected %s: see docs/how-to/testing.md", wrong.Field, strings.NewReplacer("array", "list", "object", "mapping").Replace(wrong.Value))
	}
	if err != nil {
		return errors.New(problem.Line(err.Error()))
	}
	for _, fault := range unknown {
		if of, is := errors.AsType[kjson.FieldError](fault); is {
			return fmt.Errorf("unknown field %s%s", of.FieldPath(), insteadOf(of.FieldPath()))
		}
	}
	return nil
}

// insteadOf suggests a field of a case or step for an unknown field. It begins with a semicolon; "" = no
// suggestion.
func insteadOf(path string) string {
	ofCase, ofStep := fieldsOf[Case](), fieldsOf[Step]()
	known, name := ofCase, path
	if _, inStep, is := strings.Cut(path, "]."); is {
		known, name = ofStep, inStep
	}
	if nearest := syntax.Nearest(name, known); nearest != "" {
		return syntax.DidYouMean(nearest)
	}
	if slices.Contains(ofStep, name) {
		return "; it belongs to one of steps"
	}
	return ""
}

func fieldsOf[T any]() []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			out = append(out, name)
		}
	}
	return out
}
