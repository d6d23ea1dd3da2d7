package document_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// programOf compiles text as the template of child x.
func programOf(t *testing.T, text string) *render.Program {
	t.Helper()
	p, err := render.Compile(render.Source{Children: []syntax.Template{{Name: "x", Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// renderDocument renders a status and returns the JSON of its field v.
func renderDocument(t *testing.T, text string) (string, error) {
	t.Helper()
	p, err := render.Compile(render.Source{Status: text})
	if err != nil {
		return "", err
	}
	status, err := p.Status(&render.Input{})
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(status["v"])
	return string(out), err
}

// encodeJSON returns the JSON of a value.
func encodeJSON(t *testing.T, v any) string {
	t.Helper()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// TestKeysAreValidated covers keys that are rejected, and keys that are not.
func TestKeysAreValidated(t *testing.T) {
	const reserved = "error: a key printed from a value starts with templater.dev/, which is reserved; remove it with omit"
	for text, want := range map[string]string{
		`"<<": {a: 1}`:                     `{"<<":{"a":1}}`,
		`!!str a: 1`:                       `error: a key cannot have a tag`,
		`!!int 1: a`:                       `error: YAML tags other than !!str are not supported; remove the tag`,
		`{{ "templater.dev" }}: 1`:         `{"templater.dev":1}`,
		`{{ "templater.dev/a" }}: 1`:       reserved,
		`{{ "a.templater.dev/b" }}: 1`:     reserved,
		`{{ "atemplater.dev/b" }}: 1`:      `{"atemplater.dev/b":1}`,
		`{{ "a.b/templater.dev" }}: 1`:     `{"a.b/templater.dev":1}`,
		`templater.dev/a: 1`:               `{"templater.dev/a":1}`,
		`{{ b64dec "/w==" }}: 1`:           `error: a value is not valid UTF-8; encode it with b64enc`,
		`{{ b64dec "/w==" }}a: 1`:          `error: a value is not valid UTF-8; encode it with b64enc`,
		`{{ "uid" }}: 1`:                   `{"uid":1}`,
		"a: 1\nb:\na: 2":                   `error: duplicate key "a"`,
		"a:\na: 2":                         `error: duplicate key "a"`,
		"{{ \"a\" }}: 1\na: 2":             `error: duplicate key "a"`,
		"a: 1\n{{ \"a\" }}: 2":             `error: duplicate key (printed from a value) in .v`,
		"{{ \"a\" }}:\n{{ \"a\" }}: 2":     `error: duplicate key (printed from a value) in .v`,
		"<<: [{a: 1}, {a: 2, b: 3}]\na: 4": `{"a":4,"b":3}`,
		"<<: {a: {b: 1}}\na: {c: 2}":       `{"a":{"c":2}}`,
		"<<: x":                            `error: << needs a map or a list of maps`,
		"<<: [x]":                          `error: << needs a map or a list of maps`,
		"<<: [{a: 0777}]":                  `error: unquoted 0777 has different meanings in YAML versions; quote it, or write a decimal number`,
		"a: [!, 1]":                        `error: YAML tags other than !!str are not supported; remove the tag`,
		"{a: !, b: 1}":                     `error: YAML tags other than !!str are not supported; remove the tag`,
		"{a: !}":                           `error: YAML tags other than !!str are not supported; remove the tag`,
		"a: !":                             `error: YAML tags other than !!str are not supported; remove the tag`,
		"- !":                              `error: YAML tags other than !!str are not supported; remove the tag`,
		"a: !\nb: 1":                       `error: YAML tags other than !!str are not supported; remove the tag`,
		"a: !!str\nb: 'hi! '":              `{"a":"","b":"hi! "}`,
		"a:\nb: 'hi! '":                    `{"b":"hi! "}`,
		"a: &x\nb: 'hi! '\nc: *x":          `{"a":null,"b":"hi! ","c":null}`,
		"- a\n-":                           `error: an item of a list is empty; write null, or remove its dash`,
		"- a\n- &x":                        `["a",null]`,
		"!!map {a: 1}":                     `{"a":1}`,
	} {
		got, err := renderDocument(t, "v:\n  "+strings.ReplaceAll(text, "\n", "\n  "))
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			got = "error: " + e.Message
		}
		got = strings.ReplaceAll(got, `\u003c`, "<")
		if strings.Contains(text, "templater.dev") || strings.Contains(text, "uid") {
			got = childOf(t, text)
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// childOf renders text as the field v of a child, and returns its JSON on one line, or "error: " and the message.
func childOf(t *testing.T, text string) string {
	t.Helper()
	p := programOf(t, "apiVersion: v1\nkind: A\nv:\n  "+strings.ReplaceAll(text, "\n", "\n  "))
	objects, err := p.Child("x", &render.Input{})
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return "error: " + e.Message
	}
	return strings.NewReplacer("\n", "", " ", "").Replace(encodeJSON(t, objects[0].Content["v"]))
}

// TestInvalidChildDocumentsAreRejected covers valid and invalid documents of a child template.
func TestInvalidChildDocumentsAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		"kind: [A]\napiVersion: v1":                   "kind must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"kind: {{ \"A\" }}\napiVersion: v1":           "kind must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"kind: '{{ true }}'\napiVersion: v1":          "kind must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"kind: A{{ eq 1 1 }}\napiVersion: v1":         "kind must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"kind: A\napiVersion: v{{ toYaml false }}":    "apiVersion must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"kind: {{ true }}\napiVersion: v1":            "kind must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"kind: A\napiVersion: {a: 1}":                 "apiVersion must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"x: &a A\nkind: *a\napiVersion: v1":           "",
		"x: &a {{ \"A\" }}\nkind: *a\napiVersion: v1": "kind must be literal text in the template, so that the required permissions are known in advance; use if to choose between several",
		"kind: A":                                 "the object has no apiVersion, or it is not a string",
		"kind: 5\napiVersion: v1":                 "the object has no kind, or it is not a string",
		"kind: ''\napiVersion: v1":                "the object has no kind, or it is not a string",
		"kind: A\napiVersion: v1\nmetadata: a":    "the object's metadata is a string, not a map",
		"kind: A\napiVersion: v1\nmetadata: null": "the object's metadata is a missing value, not a map",
		"[a]": "an object is a map with apiVersion and kind, not a list",
		"a":   "an object is a map with apiVersion and kind, not a string",
		"kind: A\napiVersion: v1\nmetadata: {labels: a, annotations: [], finalizers: a}": "",
		"kind: Secret\napiVersion: v1\nstringData: a":                                    "stringData is not a map",
		"kind: Secret\napiVersion: v1\nstringData: {a: b}\ndata: a":                      "data is not a map",
		"kind: Secret\napiVersion: v1\nstringData: {a: 5}":                               "a value in stringData is not a string; use quote",
		"kind: Secret\napiVersion: v2\nstringData: a":                                    "",
		"kind: Secrets\napiVersion: v1\nstringData: a":                                   "",
		"kind: Secret\napiVersion: v1\nstringData: null\ndata: a":                        "",
		"kind: A\napiVersion: v1\n{{ \"uid\" }}: 1":                                      "a key printed from a value is uid, which is reserved here; write it in the template",
		"kind: A\napiVersion: v1\nmetadata: {{ dict \"uid\" 1 }}":                        "a key printed from a value is uid, which is reserved here; write it in the template",
		"kind: A\napiVersion: v1\nspec: {{ dict \"uid\" 1 }}":                            "",
		"kind: A\napiVersion: v1\nmetadata: {{ dict \"labels\" (dict \"a\" \"b\") }}":    "",
		"kind: A\napiVersion: v1\nmetadata: {{ dict \"other\" 1 }}":                      "keys of metadata must be literal, except labels and annotations: write the key in the template",
	} {
		_, err := programOf(t, text).Child("x", &render.Input{})
		got := ""
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			got = e.Message
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestEmptyMetadataFieldsAreDropped also covers fields of the wrong type, which are left for the API server to reject.
func TestEmptyMetadataFieldsAreDropped(t *testing.T) {
	for text, want := range map[string]string{
		"{labels: {}, annotations: {}, finalizers: []}":          "{}",
		"{labels: {a: b}, annotations: {c: d}, finalizers: [e]}": `{"annotations":{"c":"d"},"finalizers":["e"],"labels":{"a":"b"}}`,
		"{labels: a, annotations: [], finalizers: {}}":           `{"annotations":[],"finalizers":{},"labels":"a"}`,
	} {
		objects, err := programOf(t, "apiVersion: v1\nkind: A\nmetadata: "+text).Child("x", &render.Input{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.NewReplacer("\n", "", " ", "").Replace(encodeJSON(t, objects[0].Content["metadata"])); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestStringDataIsConvertedToData(t *testing.T) {
	for text, want := range map[string]string{
		"stringData: {a: b}":               `{"a":"Yg=="}`,
		"stringData: {a: b}\ndata: {c: d}": `{"a":"Yg==","c":"d"}`,
		"stringData: {}":                   "null",
	} {
		objects, err := programOf(t, "apiVersion: v1\nkind: Secret\n"+text).Child("x", &render.Input{})
		if err != nil {
			t.Fatal(err)
		}
		content := objects[0].Content
		if got := strings.NewReplacer("\n", "", " ", "").Replace(encodeJSON(t, content["data"])); got != want || content["stringData"] != nil {
			t.Errorf("%s: data %s, want %s; object %v", text, got, want, content)
		}
	}
}

func TestMergeDepthIsLimited(t *testing.T) {
	for depth, want := range map[int]string{budget.MaxDepth: "{}", budget.MaxDepth + 1: "error: data is nested more than 100 levels deep"} {
		if got := childOf(t, "{<<: "+strings.Repeat("[", depth)+strings.Repeat("]", depth)+"}"); got != want {
			t.Errorf("%d lists: %s, want %s", depth, got, want)
		}
	}
}

// TestNullValuesDropTheirKeys distinguishes absent values, which drop their keys, from empty ones.
func TestNullValuesDropTheirKeys(t *testing.T) {
	for text, want := range map[string]string{
		"a:": `{}`, "a: &x": `{"a":null}`, "a: ''": `{"a":""}`, "a: \"\"": `{"a":""}`, "a: |": `{"a":""}`, "a: !!str": `{"a":""}`, "a: {b: }": `{"a":{}}`,
		"a:\nb: 1": `{"b":1}`, "- &x": "[null]", "- ''": `[""]`,
	} {
		if got, err := renderDocument(t, "v:\n  "+strings.ReplaceAll(text, "\n", "\n  ")); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestYAMLDirectivesAreRejected(t *testing.T) {
	for _, text := range []string{"%YAML 1.1\n---\na: b", "a: b\n---\n%YAML 1.1\n---\nc: d"} {
		if _, err := programOf(t, text).Child("x", &render.Input{}); err == nil || !strings.Contains(err.Error(), "YAML directives are not supported") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
