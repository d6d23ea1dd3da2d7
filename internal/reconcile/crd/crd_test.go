package crd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
)

// specOf returns the spec of a TemplateController with that crd, as YAML.
func specOf(t *testing.T, crd string) *v1.TemplateControllerSpec {
	t.Helper()
	spec := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Website"}, CRD: &v1.CRD{}}
	if err := yaml.UnmarshalStrict([]byte(crd), spec.CRD); err != nil {
		t.Fatal(err)
	}
	return spec
}

// definitionOf returns the CustomResourceDefinition of that crd, which must be valid.
func definitionOf(t *testing.T, crd string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definition, errs := Of("websites", specOf(t, crd))
	if len(errs) > 0 {
		t.Fatalf("%s:\n%v", crd, errs.ToAggregate())
	}
	return definition
}

// fieldOf returns the YAML of the schema of spec.FIELD.
func fieldOf(definition *apiextensionsv1.CustomResourceDefinition, name string) string {
	out, _ := yaml.Marshal(definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties[name])
	return string(out)
}

func TestShortSchemaExpandsToOpenAPI(t *testing.T) {
	for text, want := range map[string]string{
		`string`:  "type: string\n",
		`integer`: "type: integer\n",
		`boolean`: "type: boolean\n",
		`float`:   "type: number\n",
		`object`:  "type: object\nx-kubernetes-preserve-unknown-fields: true\n",
		`integer | default=3 minimum=1 maximum=10`:                     "default: 3\nmaximum: 10\nminimum: 1\ntype: integer\n",
		`integer | default=3 | minimum=1`:                              "default: 3\nminimum: 1\ntype: integer\n",
		`float | minimum=0.01 maximum=999.99`:                          "maximum: 999.99\nminimum: 0.01\ntype: number\n",
		`string | default="a \"b\" | c=d" description="x y"`:           "default: a \"b\" | c=d\ndescription: x y\ntype: string\n",
		`string | default=true`:                                        "default: \"true\"\ntype: string\n",
		`string | pattern="^[\\w\\.-]+@\w+$" minLength=3 maxLength=15`: "maxLength: 15\nminLength: 3\npattern: ^[\\w\\.-]+@\\w+$\ntype: string\n",
		`string | enum="debug, info" default="info"`:                   "default: info\nenum:\n- debug\n- info\ntype: string\n",
		`integer | enum="1,2"`:                                         "enum:\n- 1\n- 2\ntype: integer\n",
		`string | immutable=true`:                                      "type: string\nx-kubernetes-validations:\n- message: field is immutable\n  rule: self == oldSelf\n",
		`integer | validation="self % 2 == 0"`:                         "type: integer\nx-kubernetes-validations:\n- rule: self % 2 == 0\n",
		`[]string | uniqueItems=true minItems=1 maxItems=10`:           "items:\n  type: string\nmaxItems: 10\nminItems: 1\ntype: array\nx-kubernetes-list-type: set\n",
		`[]string | uniqueItems=false`:                                 "items:\n  type: string\ntype: array\n",
		`[]integer | default=[80, 443]`:                                "default:\n- 80\n- 443\nitems:\n  type: integer\ntype: array\n",
		`[][]integer`:                                                  "items:\n  items:\n    type: integer\n  type: array\ntype: array\n",
		`map[string][]string`:                                          "additionalProperties:\n  items:\n    type: string\n  type: array\ntype: object\n",
		`[]map[string]string`:                                          "items:\n  additionalProperties:\n    type: string\n  type: object\ntype: array\n",
		`map[string]string | default={"a": "b"}`:                       "additionalProperties:\n  type: string\ndefault:\n  a: b\ntype: object\n",
		`map[string]object`:                                            "additionalProperties:\n  type: object\n  x-kubernetes-preserve-unknown-fields: true\ntype: object\n",
		`Port`:                                                         "properties:\n  number:\n    type: integer\ntype: object\n",
		`[]Port`:                                                       "items:\n  properties:\n    number:\n      type: integer\n  type: object\ntype: array\n",
		`map[string]Port`:                                              "additionalProperties:\n  properties:\n    number:\n      type: integer\n  type: object\ntype: object\n",
		`Level | default="low"`:                                        "default: low\nenum:\n- low\n- high\ntype: string\n",
		`[]Sized`:                                                      "items:\n  properties:\n    size:\n      default: 1\n      type: integer\n  type: object\ntype: array\n",
		`Sized`:                                                        "default: {}\nproperties:\n  size:\n    default: 1\n    type: integer\ntype: object\n",
		"{host: 'string | required=true', port: integer}":              "properties:\n  host:\n    type: string\n  port:\n    type: integer\nrequired:\n- host\ntype: object\n",
		"{host: 'string | required=false', port: 'integer | default=1'}": "default: {}\nproperties:\n  host:\n    type: string\n  port:\n    default: 1\n    type: integer\ntype: object\n",
		"{host: 'string | required=true', port: 'integer | default=1'}":  "properties:\n  host:\n    type: string\n  port:\n    default: 1\n    type: integer\nrequired:\n- host\ntype: object\n",
		"{a: {b: {c: 'integer | default=1'}}}":                           "default: {}\nproperties:\n  a:\n    default: {}\n    properties:\n      b:\n        default: {}\n        properties:\n          c:\n            default: 1\n            type: integer\n        type: object\n    type: object\ntype: object\n",
	} {
		value := "'" + text + "'"
		if text[0] == '{' {
			value = text
		}
		definition := definitionOf(t, "schema:\n  spec:\n    field: "+value+`
  types:
    Port: {number: integer}
    Sized: {size: integer | default=1}
    Level: string | enum="low,high"
`)
		if diff := cmp.Diff(want, fieldOf(definition, "field")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestRequiredMarkOfTypeAppliesToItsFields(t *testing.T) {
	definition := definitionOf(t, "schema:\n  spec: {a: Name, b: string}\n  types: {Name: string | required=true}\n")
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	if diff := cmp.Diff([]string{"a"}, spec.Required); diff != "" {
		t.Error(diff)
	}
}

func TestSchemaErrorsNamePlaceAndRemedy(t *testing.T) {
	deep := "schema: {spec: {a: T0}, types: {"
	for i := range 15 {
		deep += strings.Replace("T%: {a: T^, b: T^}, ", "%", string(rune('0'+i%10))+strings.Repeat("x", i/10), 1)
		deep = strings.ReplaceAll(deep, "^", string(rune('0'+(i+1)%10))+strings.Repeat("x", (i+1)/10))
	}
	deep += "T5x: string}}"
	rules := "openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {"
	for i := range 201 {
		rules += fmt.Sprintf("f%d: {type: string, x-kubernetes-validations: [{rule: \"self != 'x'\"}]}, ", i)
	}
	for crd, want := range map[string]string{
		rules + "}}}}": "spec.crd.openAPIV3Schema: Invalid value: the schema has 201 CEL rules; the limit is 200: combine some of them, or maintain the CustomResourceDefinition in a file",
		`schema: {spec: {a: "string | description=\"` + strings.Repeat("a", 256<<10) + `\""}}`:                               "spec.crd.schema: Invalid value: the schema has 262177 bytes; the limit is 262144: use x-kubernetes-preserve-unknown-fields, or maintain the CustomResourceDefinition in a file",
		`schema: {spec: {a: "integer | minimum=NaN"}}`:                                                                       `spec.crd.schema.spec.a: Invalid value: marker minimum: "NaN" is not a number`,
		`schema: {spec: {a: "` + strings.Repeat("[]", 9_995) + `string"}}`:                                                   "spec.crd.schema: Invalid value: fields are nested in more than 64 levels: use x-kubernetes-preserve-unknown-fields",
		`schema: {spec: {a: "string | ` + manyMarkers() + `"}}`:                                                              "there are more than 30 markers",
		`schema: {spec: {` + manyFields("A") + `}, types: {A: "string | description=` + strings.Repeat("a", 100_000) + `"}}`: "the markers have more than 1048576 bytes after types are expanded: shorten them",
		`schema: {spec: {a: strin}}`:                                                                                         `spec.crd.schema.spec.a: Invalid value: unknown type "strin"; did you mean string?`,
		`schema: {spec: {a: 'object | default={"b": null}'}}`:                                                                `spec.crd.schema: Invalid value: a default, enum or example contains null, which the API server drops when the CustomResourceDefinition is updated: remove it`,
		`schema: {spec: {a: number}}`:                                                                                        `spec.crd.schema.spec.a: Invalid value: unknown type "number"; did you mean float?`,
		`schema: {spec: {a: Prt}, types: {Port: string}}`:                                                                    `spec.crd.schema.spec.a: Invalid value: unknown type "Prt"; did you mean Port?`,
		`schema: {spec: {a: "string | requird=true"}}`:                                                                       `spec.crd.schema.spec.a: Invalid value: unknown marker "requird"; did you mean required?`,
		`schema: {spec: {a: "string | required"}}`:                                                                           `spec.crd.schema.spec.a: Invalid value: "required": write a marker as name=value`,
		`schema: {spec: {a: "string | default="}}`:                                                                           `spec.crd.schema.spec.a: Invalid value: marker default: the value is missing`,
		`schema: {spec: {a: "string | default=\"x"}}`:                                                                        `spec.crd.schema.spec.a: Invalid value: marker default: the quote in "\"x" is not closed`,
		`schema: {spec: {a: "[]integer | default=[1"}}`:                                                                      `spec.crd.schema.spec.a: Invalid value: marker default: a bracket in "[1" is not closed`,
		`schema: {spec: {a: "string | default=a]"}}`:                                                                         `spec.crd.schema.spec.a: Invalid value: marker default: unmatched ]: put the value in quotes`,
		`schema: {spec: {a: "string | default=a default=b"}}`:                                                                `spec.crd.schema.spec.a: Invalid value: marker default is set twice`,
		`schema: {spec: {a: "integer | default=x"}}`:                                                                         `spec.crd.schema.spec.a: Invalid value: marker default: "x" is not a value of type integer; write lists and objects as JSON`,
		`schema: {spec: {a: "integer | default=\"1\" minimum=x"}}`:                                                           `spec.crd.schema.spec.a: Invalid value: marker minimum: "x" is not a number`,
		`schema: {spec: {a: "string | minimum=1"}}`:                                                                          `spec.crd.schema.spec.a: Invalid value: marker minimum does not apply to type string: it is for numbers`,
		`schema: {spec: {a: "integer | pattern=a"}}`:                                                                         `spec.crd.schema.spec.a: Invalid value: marker pattern does not apply to type integer: it is for strings`,
		`schema: {spec: {a: "string | minLength=-1"}}`:                                                                       `spec.crd.schema.spec.a: Invalid value: marker minLength: "-1" is not a non-negative integer`,
		`schema: {spec: {a: "string | maxItems=1"}}`:                                                                         `spec.crd.schema.spec.a: Invalid value: marker maxItems does not apply to type string: it is for lists`,
		`schema: {spec: {a: "float | enum=\"1,2\""}}`:                                                                        `spec.crd.schema.spec.a: Invalid value: marker enum does not apply to type float: it is for strings and integers`,
		`schema: {spec: {a: "integer | enum=\"1,b\""}}`:                                                                      `spec.crd.schema.spec.a: Invalid value: marker enum: "b" is not an integer`,
		`schema: {spec: {a: "string | enum=\"a,,b\""}}`:                                                                      `spec.crd.schema.spec.a: Invalid value: marker enum: a value is empty`,
		`schema: {spec: {a: "string | required=maybe"}}`:                                                                     `spec.crd.schema.spec.a: Invalid value: marker required: "maybe" is neither true nor false`,
		`schema: {spec: {a: "[]object | uniqueItems=true"}}`:                                                                 `spec.crd.schema.spec.a: Invalid value: marker uniqueItems: it is for lists of strings, numbers and booleans: use openAPIV3Schema with x-kubernetes-list-type: map`,
		`schema: {spec: {a: "object | printColumn=A"}}`:                                                                      `spec.crd.schema.spec.a: Invalid value: marker printColumn does not apply to type object: it is for strings, numbers and booleans`,
		`schema: {spec: {a: "integer | validation=\"self.foo > 1\""}}`:                                                       `spec.crd.schema.spec.a: Invalid value: "self.foo > 1": the CEL rule does not compile: `,
		`schema: {spec: {a: "map[integer]string"}}`:                                                                          `spec.crd.schema.spec.a: Invalid value: "map[integer]string": write a map as map[string]TYPE`,
		`schema: {spec: {a: [string]}}`:                                                                                      `spec.crd.schema.spec.a: Invalid value: must be a type, such as string, or a mapping of fields; a list of strings is "[]string"`,
		`schema: {spec: {a: A}, types: {A: {b: B}, B: {a: "[]A"}}}`:                                                          `spec.crd.schema.types.B.a: Invalid value: type A contains itself: A → B → A; use object where it recurs`,
		`schema: {spec: {a: string}, types: {A: {b: nothing}}}`:                                                              `spec.crd.schema.types.A.b: Invalid value: unknown type "nothing"`,
		`schema: {spec: {a: string}, types: {string: {b: string}}}`:                                                          `spec.crd.schema.types.string: Invalid value: string is a basic type: rename this type`,
		`schema: {spec: {a: string}, types: {"a b": {b: string}}}`:                                                           `spec.crd.schema.types.a b: Invalid value: the name of a type must not have spaces, brackets, | or =`,
		`schema: {spec: {a: "integer | default=true"}}`:                                                                      `spec.crd.schema.properties[spec].properties[a].default: Invalid value: `,
		deep: `more than 10000 fields after its types are expanded: use object for some of them`,
		`{}`: `spec.crd: Invalid value: set either schema or openAPIV3Schema`,
		`{schema: {spec: {}}, openAPIV3Schema: {type: object}}`:                                                                        `spec.crd: Invalid value: set either schema or openAPIV3Schema`,
		`openAPIV3Schema: {type: object, propertis: {}}`:                                                                               `spec.crd.openAPIV3Schema: Invalid value: unknown field "propertis"`,
		`openAPIV3Schema: {type: object, properties: {spec: {}}}`:                                                                      `spec.crd.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields`,
		`{schema: {spec: {a: string}}, columns: [{name: A, jsonPath: .spec.b}]}`:                                                       `spec.crd.columns[A].jsonPath: Invalid value: ".spec.b": the schema has no field .spec.b`,
		`{schema: {spec: {replicas: string}, status: {n: integer}}, scale: {specReplicas: .spec.replicas, statusReplicas: .status.n}}`: `spec.crd.scale.specReplicas: Invalid value: ".spec.replicas": the field is of type string, but must be of type integer`,
		`{schema: {spec: {replicas: integer}, status: {n: integer}}, scale: {specReplicas: .spec.replica, statusReplicas: .status.n}}`: `spec.crd.scale.specReplicas: Invalid value: ".spec.replica": the schema has no field .spec.replica; did you mean replicas?`,
		`{schema: {spec: {a: string}}, columns: [{name: A, jsonPath: "{.spec.a}"}]}`:                                                   `spec.crd.columns[A].jsonPath: Invalid value: "{.spec.a}": must begin with a dot, as in .spec.replicas`,
		`{schema: {spec: {a: string}}, columns: [{name: A, jsonPath: ".spec.a["}]}`:                                                    `spec.crd.columns[A].jsonPath: Invalid value: ".spec.a[": is not a JSON path: unterminated array`,
		`{schema: {spec: {a: string}}, names: {listKind: Website}}`:                                                                    `spec.crd.names.listKind: Invalid value: "Website": must not be the kind itself`,
		`schema: {spec: {a: "[]A"}, types: {A: {b: "string | immutable=true"}}}`:                                                       `spec.crd.schema.spec.a[*].b: Invalid value: "self == oldSelf": the CEL rule uses oldSelf (as immutable=true does) in the list spec.crd.schema.spec.a, whose old and new items cannot be matched`,
		`schema: {spec: {a: "[]string | maxItems=2000", b: "[]string | validation=\"self.all(x, self.all(y, x == y))\""}}`:             `spec.crd.schema.spec.b: Invalid value: "self.all(x, self.all(y, x == y))": the CEL rule may cost more than 100 times as much as the API server allows: set maxItems`,
		`schema: {spec: {a: "[]integer | maxItems=2000 validation=\"self.all(x, self.all(y, x == y))\""}}`:                             ` times as much as the API server allows: set maxItems`,
		`schema: {spec: {a: "[]A"}, types: {A: {b: "[]string | maxItems=100 validation=\"self.all(x, x.size() < 9)\""}}}`:              ` times as much as the API server allows: set maxItems`,
	} {
		_, errs := Of("websites", specOf(t, crd))
		if len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%.200s:\n%v\nwant\n%s", crd, errs.ToAggregate(), want)
		}
	}
}

// TestRulesOfLimitedCostAreAccepted has rules that would be too expensive, or could not read oldSelf, elsewhere.
func TestRulesOfLimitedCostAreAccepted(t *testing.T) {
	const rule = "x-kubernetes-validations: [{rule: self == oldSelf}]"
	for why, crd := range map[string]string{
		"a list of few":                   `schema: {spec: {a: "[]string | maxItems=20 validation=\"self.all(x, self.all(y, x.size() == y.size()))\""}}`,
		"a list in a list of few":         `schema: {spec: {a: "[]A | maxItems=10"}, types: {A: {b: "[]string | maxItems=100 validation=\"self.all(x, x.size() < 9)\""}}}`,
		"a field that is immutable":       `schema: {spec: {a: {b: "string | immutable=true"}}}`,
		"a map with values that are":      `schema: {spec: {a: "map[string]A"}, types: {A: {b: "string | maxLength=9 immutable=true"}}}`,
		"a list whose items have a key":   `openAPIV3Schema: {type: object, properties: {spec: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: object, required: [a], properties: {a: {type: string}, b: {type: integer, ` + rule + `}}}}}}`,
		"a list that is immutable itself": `openAPIV3Schema: {type: object, properties: {spec: {type: array, maxItems: 9, ` + rule + `, items: {type: string, maxLength: 9}}}}`,
	} {
		t.Run(why, func(t *testing.T) { definitionOf(t, crd) })
	}
}

func manyMarkers() (text string) {
	for i := range 40 {
		text += fmt.Sprintf("m%d=1 ", i)
	}
	return text
}

func manyFields(of string) (text string) {
	for i := range 100 {
		text += fmt.Sprintf("f%d: %s, ", i, of)
	}
	return text
}

func TestKindNeedsGroupAndIsNotBuiltIn(t *testing.T) {
	spec := specOf(t, "schema: {spec: {a: string}}")
	spec.Watch = v1.Watch{APIVersion: "v1", Kind: "Thing"}
	if _, errs := Of("x", spec); len(errs) != 1 || errs[0].Field != "spec.watch.apiVersion" {
		t.Error(errs)
	}
	spec.Watch = v1.Watch{APIVersion: "example/v1", Kind: "Thing"}
	if _, errs := Of("x", spec); len(errs) != 1 || errs[0].Field != "spec.watch.apiVersion" {
		t.Error(errs)
	}
	spec.Watch = v1.Watch{APIVersion: "templater.dev/v1", Kind: "Thing"}
	if _, errs := Of("x", spec); len(errs) != 1 || errs[0].Detail != "templater's own API group cannot be used with crd: choose another one, as in example.org/v1" {
		t.Error(errs)
	}
	spec.Watch = v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}
	if _, errs := Of("x", spec); len(errs) != 1 || errs[0].Detail != "Deployment is a built-in kind: remove crd" {
		t.Error(errs)
	}
}

func TestDefinitionOfDesign(t *testing.T) {
	got, err := yaml.Marshal(definitionOf(t, `
names: {shortNames: [ws], categories: [all]}
columns: [{name: Pods, jsonPath: .status.pods}, {name: Replicas, jsonPath: .spec.replicas, priority: 1}, {name: First, jsonPath: ".spec.ports[0].port"}, {name: Tier, jsonPath: ".metadata.labels['tier']"}]
schema:
  spec:
    page: string | required=true description="HTML that visitors see" printColumn=PAGE
    replicas: integer | default=1 minimum=0 maximum=10
    env: map[string]string
    ports: "[]Port"
  types: {Port: {name: string | required=true, port: integer | required=true}}
  status: {pods: string, replicas: integer}
scale: {specReplicas: .spec.replicas, statusReplicas: .status.replicas}
`).Spec)
	if err != nil {
		t.Fatal(err)
	}
	const want = `conversion:
  strategy: None
group: example.org
names:
  categories:
  - all
  kind: Website
  listKind: WebsiteList
  plural: websites
  shortNames:
  - ws
  singular: website
scope: Namespaced
versions:
- additionalPrinterColumns:
  - jsonPath: .status.conditions[?(@.type=="Ready")].status
    name: Ready
    type: string
  - jsonPath: .spec.page
    name: PAGE
    type: string
  - jsonPath: .status.pods
    name: Pods
    type: string
  - jsonPath: .spec.replicas
    name: Replicas
    priority: 1
    type: integer
  - jsonPath: .spec.ports[0].port
    name: First
    type: integer
  - jsonPath: .metadata.labels['tier']
    name: Tier
    type: string
  - jsonPath: .metadata.creationTimestamp
    name: Age
    type: date
  name: v1
`
	if diff := cmp.Diff(want, string(got)[:min(len(got), len(want))]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
