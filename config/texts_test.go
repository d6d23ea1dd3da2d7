package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const crdFile = "crd/templater.dev_templatecontrollers.yaml"

// definition returns the CRD.
func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	load(t, crdFile, &crd)
	return &crd
}

// explained is how many characters of a description kubectl explain puts in a line. It breaks longer
// lines, and keeps the breaks that are there.
const explained = 76

// kubectl explain shows descriptions and types, and neither defaults nor bounds.
func TestFieldDescriptionsStateDefaultsAndBounds(t *testing.T) {
	root := definition(t).Spec.Versions[0].Schema.OpenAPIV3Schema
	faults, fields := 0, 0
	visit := func(path string, field, parent *apiextensionsv1.JSONSchemaProps) {
		fields++
		for _, fault := range untold(path, field, parent) {
			faults++
			t.Errorf("%s: the description does not say: %s\n%s", path, fault, field.Description)
		}
	}
	for _, part := range []string{"spec", "status"} {
		schema := root.Properties[part]
		visit(part, &schema, root)
		eachField(part, &schema, visit)
	}
	if fields < 40 {
		t.Errorf("found %d fields, want 40 or more", fields)
	}
}

// others are the types whose texts are those of Kubernetes.
var others = regexp.MustCompile(`[sS]elector$|^status\.conditions$`)

// eachField calls visit for the fields below a schema, at any depth.
func eachField(path string, schema *apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps, *apiextensionsv1.JSONSchemaProps)) {
	if schema.Items != nil {
		schema = schema.Items.Schema
	}
	for name, field := range schema.Properties {
		at := path + "." + name
		visit(at, &field, schema)
		if !others.MatchString(at) {
			eachField(at, &field, visit)
		}
	}
}

// untold returns what a description should say and does not.
func untold(path string, field, parent *apiextensionsv1.JSONSchemaProps) []string {
	words := strings.Join(strings.Fields(field.Description), " ")
	var missing []string
	for line := range strings.Lines(field.Description) {
		if utf8.RuneCountInString(strings.TrimSpace(line)) > explained {
			missing = append(missing, fmt.Sprintf("all of it in lines of at most %d characters", explained))
			break
		}
	}
	want := func(all ...string) {
		if !slices.ContainsFunc(all, func(one string) bool { return strings.Contains(words, one) }) {
			missing = append(missing, strings.Join(all, " or "))
		}
	}
	_, name, _ := strings.Cut(path, ".")
	name = name[strings.LastIndex(name, ".")+1:]
	switch required := slices.Contains(parent.Required, name); {
	case required || path == "spec":
		want("Required")
	case strings.HasPrefix(path, "status"):
		want("Always set", "Absent")
	default:
		want("Optional")
	}
	if field.Default != nil {
		want("the default is " + text(field.Default))
	}
	for _, value := range field.Enum {
		want(text(&value))
	}
	for _, most := range []*int64{field.MaxLength, field.MaxItems} {
		if most != nil {
			want(thousands(*most), fmt.Sprintf(" to %d", *most))
		}
	}
	for _, rule := range parent.XValidations {
		if strings.Contains(rule.Rule, "oldSelf."+name) {
			want("mmutable")
		}
	}
	return missing
}

// text returns a value as a person writes it; of an object that is empty, its type's own default tells.
func text(value *apiextensionsv1.JSON) string {
	var word string
	if json.Unmarshal(value.Raw, &word) == nil {
		return word
	}
	return strings.Trim(string(value.Raw), "{}")
}

// thousands writes a number with commas.
func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// kubectl apply keeps a copy of what it applies in an annotation, which has room for 256 KiB.
func TestCRDFitsKubectlAnnotation(t *testing.T) {
	data, err := json.Marshal(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	if most := 200 << 10; len(data) > most {
		t.Errorf("%s has %d bytes as JSON, want at most %d", crdFile, len(data), most)
	}
}
