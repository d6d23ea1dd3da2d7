// Package manifest reads what config installs, for those who run the operator
// outside of a Pod and give it the same.
package manifest

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Read returns the first object in a file below config, which is in the root of
// the repository.
func Read(root, file string) (*unstructured.Unstructured, error) {
	f, err := os.Open(filepath.Join(root, "config", file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(f, 4096).Decode(&o.Object); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return o, nil
}

// Controllers returns the definition of TemplateControllers.
func Controllers(root string) (*unstructured.Unstructured, error) {
	return Read(root, filepath.Join("crd", "templater.dev_templatecontrollers.yaml"))
}

// OperatorRole returns the ClusterRole that the operator has as its own, under another name and
// with more rules, each in the form of a ClusterRole's.
func OperatorRole(root, name string, more ...any) (*unstructured.Unstructured, error) {
	role, err := Read(root, filepath.Join("rbac", "operator.yaml"))
	if err != nil {
		return nil, err
	}
	role.SetName(name)
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		return nil, err
	}
	return role, unstructured.SetNestedSlice(role.Object, append(rules, more...), "rules")
}
