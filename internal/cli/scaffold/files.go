package scaffold

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/crd"
)

// NewKind returns the files for a new kind, and the names of those to apply. With separate, the CustomResourceDefinition has its own file.
func NewKind(c *Controller, example map[string]any, separate bool) (files []File, applied []string, err error) {
	if separate {
		definition, err := c.definition()
		if err != nil {
			return nil, nil, err
		}
		without := *c
		without.CRD, c = nil, &without
		files, applied = []File{{"crd.yaml", definition}}, []string{"crd.yaml"}
	}
	files = append(files, File{"templatecontroller.yaml", c.YAML()}, File{"example.yaml", Example(c.GVK, "example", example)})
	return files, append(applied, "templatecontroller.yaml"), nil
}

// definition returns the manifest of the CustomResourceDefinition.
func (c *Controller) definition() (string, error) {
	tc := &v1.TemplateController{}
	if err := yaml.UnmarshalStrict([]byte(c.YAML()), tc); err != nil {
		return "", err
	}
	definition, errs := crd.Of("", &tc.Spec)
	if len(errs) > 0 {
		return "", fmt.Errorf("the schema of %s: %w", c.GVK.Kind, errs.ToAggregate())
	}
	content := crd.Manifest(definition)
	delete(content["metadata"].(map[string]any), "labels") //nolint:forcetypeassert // it has a name
	return marshal(content), nil
}

// Example returns an object of the kind.
func Example(gvk schema.GroupVersionKind, name string, spec map[string]any) string {
	text := "apiVersion: " + scalar(gvk.GroupVersion().String()) + "\nkind: " + scalar(gvk.Kind) + "\nmetadata:\n  name: " + scalar(name) + "\n"
	return text + "spec:" + inline(spec, 2)
}

// inline returns a map with its key.
func inline(m map[string]any, by int) string {
	if len(m) == 0 {
		return " {}\n"
	}
	return "\n" + indent(marshal(m), by)
}

// Kustomization returns a kustomization.yaml for files.
func Kustomization(files ...string) string {
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n# example.yaml is not listed: apply it after the CRD is established.\nresources:\n"
	for _, file := range files {
		text += "- " + scalar(file) + "\n"
	}
	return text
}
