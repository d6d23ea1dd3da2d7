package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/templater-dev/templater/internal/kube/kind"
)

var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// CheckKind validates the kind of new parents, and returns an error that names a flag of templater new, or nil.
func CheckKind(gvk schema.GroupVersionKind) error {
	const longest = 63
	switch {
	case !kindName.MatchString(gvk.Kind) || len(gvk.Kind) > longest:
		return fmt.Errorf("--kind %q: use a name such as Shop: a capital letter, then letters and digits, at most 63 characters", gvk.Kind)
	case len(validation.IsDNS1123Subdomain(gvk.Group)) > 0 || !strings.Contains(gvk.Group, "."):
		return fmt.Errorf("--group %q: use a domain that you own, such as shops.example.org", gvk.Group)
	case len(validation.IsDNS1035Label(gvk.Version)) > 0:
		return fmt.Errorf("--version %q: use a version such as v1 or v1alpha1", gvk.Version)
	}
	return nil
}

// Fresh returns an initial operator for a new kind: a Deployment and a Service. separate: see NewKind.
func Fresh(gvk schema.GroupVersionKind, separate bool) (*Result, error) {
	if err := CheckKind(gvk); err != nil {
		return nil, err
	}
	spec := map[string]any{
		"type": "object", "required": []any{"image"},
		"properties": map[string]any{
			"image":    map[string]any{"description": "The container image to run.", "type": "string", "minLength": int64(1)},
			"replicas": map[string]any{"description": "The number of Pods.", "type": "integer", "minimum": int64(0), "default": int64(1)},
			"port":     map[string]any{"description": "The port that the image listens on.", "type": "integer", "minimum": int64(1), "maximum": int64(65535), "default": int64(8080)},
		},
	}
	status := map[string]any{"readyReplicas": map[string]any{"description": "The number of ready Pods.", "type": "integer"}}
	c := Controller{
		Name: kind.Plural(gvk.Kind), GVK: gvk, CRD: CRDOf(spec, status),
		Comment: fmt.Sprintf("For each %s: a Deployment and a Service. Values are printed as they are, so that no quotes are needed.", gvk.Kind),
		Children: []Child{
			{Name: "deployment", Template: freshDeployment},
			{Name: "service", Template: freshService},
		},
		Status: freshStatus,
	}
	example := map[string]any{"image": "nginx:1.29", "replicas": int64(2), "port": int64(80)}
	return result(&c, example, separate)
}

// result assembles the files for a new kind.
func result(c *Controller, example map[string]any, separate bool) (*Result, error) {
	files, applied, err := NewKind(c, example, separate)
	return &Result{Files: append(files, File{"kustomization.yaml", Kustomization(applied...)})}, err
}

const (
	freshDeployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .metadata.name }}
spec:
  replicas: {{ .spec.replicas | default 1 }}
  selector:
    matchLabels: {app: {{ .metadata.name | dnsLabel }}}
  template:
    metadata:
      labels: {app: {{ .metadata.name | dnsLabel }}}
    spec:
      containers:
      - name: main
        image: {{ .spec.image }}
        ports:
        - {name: main, containerPort: {{ .spec.port | default 8080 }}}
`
	freshService = `apiVersion: v1
kind: Service
metadata:
  name: {{ .metadata.name }}
spec:
  selector: {app: {{ .metadata.name | dnsLabel }}}
  ports:
  - {name: main, port: 80, targetPort: main}
`
	freshStatus = `{{- with first .children.deployment }}
readyReplicas: {{ .status.readyReplicas | default 0 }}
{{- end }}
`
)

// Watching returns a TemplateController for an existing kind: a built-in kind, or the kind of a
// CustomResourceDefinition, given by its content; nil = built-in.
func Watching(gvk schema.GroupVersionKind, definition map[string]any) (*Result, error) {
	var known kind.Declared
	if definition != nil {
		known = kind.Declared{definition}
	}
	of, err := known.Resolve(gvk)
	if err != nil {
		return nil, err
	}
	fields := fieldsOf(known.Schema(gvk))
	comment := fmt.Sprintf("For each %s: a ConfigMap, to begin with.", gvk.Kind)
	if len(fields) > 0 {
		comment += "\nIts templates can read, among others: " + strings.Join(fields, " ")
	}
	place := ""
	if !of.Namespaced {
		place = "  namespace: default\n"
	}
	c := Controller{
		Name: of.Resource.Resource, GVK: gvk, Comment: comment,
		Children: []Child{{Name: "configMap", Template: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .metadata.name }}-" +
			strings.ToLower(gvk.Kind) + "\n" + place + "data:\n  name: {{ .metadata.name }}\n"}},
	}
	if gvk.Group == "" && gvk.Kind == "ConfigMap" {
		c.Labels = map[string]any{"example.org/parent": "true"}
		c.Comment = fmt.Sprintf("For each %s with the label of watch.labelSelector: a %s, to begin with. It has no such label, so that it gets no children of its own.", gvk.Kind, gvk.Kind)
	}
	files := []File{{"templatecontroller.yaml", c.YAML()}, {"kustomization.yaml", Kustomization("templatecontroller.yaml")}}
	if definition != nil {
		files = []File{{"crd.yaml", marshal(definition)}, files[0], {"kustomization.yaml", Kustomization("crd.yaml", "templatecontroller.yaml")}}
	}
	return &Result{Files: files}, nil
}

// fieldsOf returns the fields of .spec and .status in the schema of a kind, in template syntax.
func fieldsOf(root map[string]any) []string {
	var all []string
	for _, part := range []string{"spec", "status"} {
		fields, _, _ := unstructured.NestedMap(root, "properties", part, "properties")
		for name := range fields {
			all = append(all, "."+part+"."+name)
		}
	}
	slices.Sort(all)
	return all
}
