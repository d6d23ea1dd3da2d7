package problem

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// causeOf converts a validation error of Kubernetes to the cause in a response.
func causeOf(e *field.Error) metav1.StatusCause {
	return metav1.StatusCause{Type: metav1.CauseType(e.Type), Message: e.ErrorBody(), Field: e.Field}
}

func TestValidationRuleIsReportedWithoutValue(t *testing.T) {
	at := field.NewPath("spec", "x")
	invalid := func(detail string) *field.Error { return field.Invalid(at, secret, detail) }
	first := func(details []string) *field.Error {
		if len(details) == 0 {
			t.Fatal("the validation finds nothing")
		}
		return invalid(details[0])
	}
	const name = "must start and end with an alphanumeric character"
	for why, row := range map[string]struct {
		err  *field.Error
		want string
	}{
		"a selector that does not match":   {field.Invalid(at, map[string]string{"a": secret}, "`selector` does not match template `labels`"), "invalid value: the selector does not match the labels of the template"},
		"a label":                          {first(validation.IsDNS1123Label("A_")), "invalid value: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " + name},
		"a subdomain":                      {first(validation.IsDNS1123Subdomain("A_")), "invalid value: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " + name},
		"a name of a Service":              {first(validation.IsDNS1035Label("1")), "invalid value: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"},
		"a long label":                     {first(validation.IsDNS1123Label(strings.Repeat("a", 64))), "invalid value: must be no more than 63 characters"},
		"a value of a label":               {first(validation.IsValidLabelValue("a b")), "invalid value: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " + name},
		"a key of a label":                 {first(validation.IsQualifiedName("a b")), "invalid value: name part must consist of alphanumeric characters, '-', '_' or '.', and " + name},
		"a port":                           {first(validation.IsValidPortNum(0)), "invalid value: must be between 1 and 65535, inclusive"},
		"a name of a variable":             {first(validation.IsRelaxedEnvVarName("a=b")), "invalid value: a valid environment variable name must consist only of printable ASCII characters other than '='"},
		"a name of a variable, of old":     {first(validation.IsEnvVarName("1")), "invalid value: a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit"},
		"a key of a ConfigMap":             {first(validation.IsConfigMapKey("a b")), "invalid value: a valid config key must consist of alphanumeric characters, '-', '_' or '.'"},
		"too long":                         {field.TooLong(at, secret, 63), "too long: may not be more than 63 bytes"},
		"too many":                         {field.TooMany(at, 5, 3), "too many items: must have at most 3 items"},
		"an enum":                          {field.NotSupported(at, secret, []string{"B", "A"}), `value is not supported: supported values: B, A`},
		"an enum of many":                  {field.NotSupported(at, secret, strings.Split("abcdefghijkl", "")), `value is not supported: supported values: a, b, c, d, e, f, g, h, i, j and 2 more`},
		"an enum of as many as are told":   {field.NotSupported(at, secret, strings.Split("abcdefghij", "")), `value is not supported: supported values: a, b, c, d, e, f, g, h, i, j`},
		"an enum without values":           {field.NotSupported(at, `: supported values: "`+secret+`"`, []string{}), `value is not supported`},
		"an enum of odd values":            {field.NotSupported(at, "a", []string{"b c " + secret}), `value is not supported`},
		"an enum where none was given":     {field.Required(at, `valid values: "OnFailure", "Never"`), "required value is missing: supported values: OnFailure, Never"},
		"a required value":                 {field.Required(at, secret), "required value is missing"},
		"a number":                         {invalid("must be greater than or equal to 0"), "invalid value: must be greater than or equal to 0"},
		"a number in a schema":             {invalid("spec.x in body should be less than or equal to 5"), "invalid value: should be less than or equal to 5"},
		"a short text in a schema":         {invalid("spec.x in body should be at least 3 chars long"), "invalid value: should be at least 3 chars long"},
		"a pattern":                        {invalid(`spec.x in body should match '^a\d+$'`), `invalid value: should match ^a\d+$`},
		"a pattern that is cut off":        {invalid(`spec.x in body should match '^a`), "invalid value"},
		"a pattern behind a value like it": {field.Invalid(at, "x in body should match '"+secret+"'", "y in body should match '^a$'"), "invalid value: should match ^a$"},
		"a value that looks like a rule":   {field.Invalid(at, "in body should match '"+secret+"'", ""), "invalid value"},
		"a long pattern":                   {invalid("spec.x in body should match '" + strings.Repeat("a", 300) + "'"), "invalid value"},
		"a type":                           {field.TypeInvalid(at, "string", `spec.x in body must be of type integer: "string"`), "wrong type: expected integer"},
		"a limit":                          {invalid("must be less than or equal to memory limit of 64Mi"), "invalid value: must be less than or equal to the memory limit"},
		"a rule with a value in it":        {invalid("must be equal to " + secret), "invalid value"},
		"a sentence with more behind it":   {invalid("must be no more than 63 bytes, unlike " + secret), "invalid value"},
		"what is twice":                    {field.Duplicate(at, secret), "duplicate value"},
		"what is not found":                {field.NotFound(at, secret), "refers to something that does not exist"},
		"what is forbidden":                {field.Forbidden(at, secret), "must not be set or changed; to replace the object, set updateStrategy.type to Recreate"},
	} {
		t.Run(why, func(t *testing.T) {
			err := answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, row.err.Error(), causeOf(row.err))
			got := PublicReason(err)
			if want := "spec.x: " + row.want; got != want {
				t.Errorf("got  %s\nwant %s\nof   %s", got, want, row.err.ErrorBody())
			}
			if strings.Contains(got, secret) {
				t.Error("a value is told")
			}
		})
	}
}

func TestRuleOfReturnsSafeSuffixOnly(t *testing.T) {
	of := func(kind metav1.CauseType, message string) metav1.StatusCause {
		return metav1.StatusCause{Type: kind, Message: message}
	}
	const before = " in body should match '"
	for why, row := range map[string]struct {
		cause metav1.StatusCause
		want  string
	}{
		"values of another sort of fault": {of(metav1.CauseTypeFieldValueInvalid, `x: supported values: "`+secret+`"`), ""},
		"a quoted end":                    {of(metav1.CauseTypeFieldValueInvalid, "is not '"+secret+"'"), ""},
		"a pattern alone":                 {of(metav1.CauseTypeFieldValueInvalid, before+"^a$'"), "should match ^a$"},
		"the longest pattern":             {of(metav1.CauseTypeFieldValueInvalid, before+strings.Repeat("a", maxPattern-1)+"'"), "should match " + strings.Repeat("a", maxPattern-1)},
		"one that is longer":              {of(metav1.CauseTypeFieldValueInvalid, before+strings.Repeat("a", maxPattern)+"'"), ""},
	} {
		if got := ruleOf(row.cause); got != row.want {
			t.Errorf("%s: got %q, want %q", why, got, row.want)
		}
	}
}
