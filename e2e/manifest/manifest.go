// Package manifest reads the manifests in config, for tests and tools that run the operator outside of a Pod.
package manifest

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Read returns the first object in a file below config; root is the root of the repository.
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

// Controllers returns the CRDs of TemplateControllers, NamespacedTemplateControllers and TemplateRevisions.
func Controllers(root string) (all []*unstructured.Unstructured, err error) {
	for _, resource := range []string{"templatecontrollers", "namespacedtemplatecontrollers", "templaterevisions"} {
		crd, err := Read(root, filepath.Join("crd", "templater.dev_"+resource+".yaml"))
		if err != nil {
			return nil, err
		}
		all = append(all, crd)
	}
	return all, nil
}

// OperatorRole returns the operator's ClusterRole on the test cluster, under another name and with more rules, each in
// the form of a ClusterRole's. The cluster enables the same admission plugin as OpenShift, so the rules for that are
// included.
func OperatorRole(root, name string, more ...any) (*unstructured.Unstructured, error) {
	role, err := Read(root, filepath.Join("rbac", "operator.yaml"))
	if err != nil {
		return nil, err
	}
	plugin, err := Added(root, filepath.Join("components", "openshift", "rbac.yaml"))
	if err != nil {
		return nil, err
	}
	role.SetName(name)
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		return nil, err
	}
	rules = append(append(rules, plugin...), more...)
	return role, unstructured.SetNestedSlice(role.Object, rules, "rules")
}

// Added returns the rules that a patch in a file below config adds to a role.
func Added(root, file string) ([]any, error) {
	path := filepath.Join(root, "config", file)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var patch []struct {
		Op, Path string
		Value    map[string]any
	}
	if err := yaml.UnmarshalStrict(text, &patch); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var rules []any
	for _, one := range patch {
		if one.Op != "add" || one.Path != "/rules/-" {
			return nil, fmt.Errorf("read %s: want rules to be added, got %s %s", path, one.Op, one.Path)
		}
		rules = append(rules, one.Value)
	}
	return rules, nil
}
