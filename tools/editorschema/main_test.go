package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

const (
	crd        = "../../config/crd/templater.dev_templatecontrollers.yaml"
	namespaced = "../../config/crd/templater.dev_namespacedtemplatecontrollers.yaml"
	schema     = "../../config/schema/templatecontroller_v1.json"
)

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSchemaIsCurrent(t *testing.T) {
	now := filepath.Join(t.TempDir(), "schema.json")
	if err := run(crd, namespaced, now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text(t, schema), text(t, now)); diff != "" {
		t.Errorf("run make generate (-config/schema +config/crd):\n%s", diff)
	}
}

func TestMissingSchemaIsError(t *testing.T) {
	for why, file := range map[string]string{"no file": "nowhere.yaml", "no YAML": "main.go", "no version": "../../config/crd/kustomization.yaml"} {
		if err := run(file, namespaced, filepath.Join(t.TempDir(), "schema.json")); err == nil {
			t.Errorf("%s: no error", why)
		}
	}
}

// TestSchemaMatchesServerValidation validates the samples, and files with mistakes.
func TestSchemaMatchesServerValidation(t *testing.T) {
	whole := &spec.Schema{}
	if err := json.Unmarshal([]byte(text(t, schema)), whole); err != nil {
		t.Fatal(err)
	}
	validator := validate.NewSchemaValidator(whole, nil, "", strfmt.Default)
	faults := func(content map[string]any) string {
		var all []string
		for _, err := range validator.Validate(content).Errors {
			all = append(all, err.Error())
		}
		return strings.Join(all, "; ")
	}
	samples, err := manifest.LoadControllers([]string{"../../config/samples"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range samples.Controllers {
		if got := faults(c.Content); got != "" {
			t.Errorf("%s: %s", c.File, got)
		}
	}
	const head = "apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: a}\n"
	for text, want := range map[string]string{
		head + "spec: {watch: {apiVersion: v1, kind: A}, children: [{name: a, template: x, updateStrategy: {rollingUpdate: {maxUnavailable: 1}}}], values: {any: {thing: 1}}}": "",
		head + "spec: {watch: {apiVersion: v1, kind: A}, children: [{name: a, template: x, updateStrategy: {rollingUpdate: {maxUnavailable: 5%}}}]}":                           "",
		head + "spec: {watch: {apiVersion: v1, kind: A}, childs: []}":                                                                                                          "childs",
		head + "spec: {watch: {apiVersion: v1, kind: A, labels: {}}}":                                                                                                          "labels",
		head + "spec: {watch: {apiVersion: v1}}":                                                                                                                               "kind",
		head + "spec: {watch: {apiVersion: v1, kind: A}, children: [{name: a, deletionPolicy: x}]}":                                                                            "deletionPolicy",
		head: "spec",
		strings.Replace(head, "{name: a}", "{}", 1) + "spec: {watch: {apiVersion: v1, kind: A}}": "name",
	} {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		if got := faults(content); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s\ngot %q, want %q", text, got, want)
		}
	}
}
