package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// FromManifests returns an operator whose children are these objects. Their names, and references to them, are derived from the name
// of the parent. Images, replicas, hosts and sizes of volumes become fields of the parent, with their values as defaults. separate: see NewKind.
func FromManifests(gvk schema.GroupVersionKind, objects []*manifest.Object, separate bool) (*Result, error) {
	if err := CheckKind(gvk); err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(slices.Clone(objects), func(o *manifest.Object) bool {
		apiVersion, _ := o.Content["apiVersion"].(string)
		return strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") // not an API object
	})
	if len(objects) == 0 {
		return nil, errors.New("no object to convert to a template")
	}
	m := &manifests{fields: map[string]any{}, example: map[string]any{}, names: map[string]string{}, given: map[string]bool{}, scaled: map[string]bool{}, namespaces: map[string]bool{}, taken: map[string]bool{}}
	all := objects
	objects = withoutNamespaces(all)
	m.delimiters(objects)
	m.name(objects)
	m.autoscaled(objects)
	c := Controller{
		Name: kind.Plural(gvk.Kind), GVK: gvk, Left: m.left, Right: m.right,
		Comment: fmt.Sprintf("Generated from %s. Each %s has its own.", problem.Count(len(objects), "object", "objects"), gvk.Kind),
	}
	for _, o := range all {
		if slices.Contains(objects, o) {
			c.Children = append(c.Children, m.child(o))
		} else {
			m.notes = append(m.notes, Note{o.File, o.Line, "the Namespace is omitted: children are created in the namespace of their parent"})
		}
	}
	spec := map[string]any{"type": "object", "properties": m.fields}
	if len(m.fields) == 0 {
		delete(spec, "properties")
	}
	c.CRD = CRDOf(spec, nil)
	out, err := result(&c, m.example, separate)
	if err != nil {
		return nil, err
	}
	out.Notes = m.notes
	return out, nil
}

// manifests converts objects to templates.
type manifests struct {
	left, right string            // delimiters; "" = the default
	names       map[string]string // template text for the names of objects
	given       map[string]bool   // objects, by KIND/NAME
	scaled      map[string]bool   // objects whose replicas a HorizontalPodAutoscaler sets, by KIND/NAME
	namespaces  map[string]bool   // of objects
	taken       map[string]bool   // names of child templates
	fields      map[string]any    // of the parent's spec: their schemas
	example     map[string]any    // their values
	notes       []Note
	actions

	file string // of the current object
	line int
}

// withoutNamespaces removes Namespaces if there are other objects: children are created in the namespace of their parent.
func withoutNamespaces(objects []*manifest.Object) []*manifest.Object {
	isNamespace := func(o *manifest.Object) bool {
		return o.Content["kind"] == "Namespace" && o.Content["apiVersion"] == "v1"
	}
	if others := slices.DeleteFunc(slices.Clone(objects), isNamespace); len(others) > 0 {
		return others
	}
	return objects
}

// autoscaled finds the objects whose replicas a HorizontalPodAutoscaler sets: templates must not set them, too.
func (m *manifests) autoscaled(objects []*manifest.Object) {
	for _, o := range objects {
		target := inside(o.Content, []string{"spec", "scaleTargetRef"})
		kind, _ := target["kind"].(string)
		name, _ := target["name"].(string)
		if o.Content["kind"] == "HorizontalPodAutoscaler" && m.given[kind+"/"+name] {
			m.scaled[kind+"/"+name] = true
		}
	}
}

// delimiters chooses other delimiters if the objects contain the default ones.
func (m *manifests) delimiters(objects []*manifest.Object) {
	all := ""
	for _, o := range objects {
		all += marshal(o.Content)
	}
	for i, pair := range [][2]string{{"{{", "}}"}, {"[[", "]]"}, {"<%", "%>"}} {
		if strings.Contains(all, pair[0]) {
			continue
		}
		if i > 0 {
			m.left, m.right = pair[0], pair[1]
		}
		return
	}
	m.left, m.right = "<%0", "%>"
	for i := 1; strings.Contains(all, m.left); i++ {
		m.left = fmt.Sprintf("<%%%d", i)
	}
}

// action returns an action that prints an expression.
func (m *manifests) action(expression string) string {
	left, right := m.left, m.right
	if left == "" {
		left, right = "{{", "}}"
	}
	return left + " " + expression + " " + right
}

// name finds the common part of the names of the objects, and the template text for each of them.
func (m *manifests) name(objects []*manifest.Object) {
	base := ""
	for _, o := range objects {
		name := nameOf(o)
		if base == "" || strings.HasPrefix(base, name) {
			base = name
		}
	}
	for _, o := range objects {
		name := nameOf(o)
		kind, _ := o.Content["kind"].(string)
		m.given[kind+"/"+name] = true
		if namespace, ok := inside(o.Content, []string{"metadata"})["namespace"].(string); ok {
			m.namespaces[namespace] = true
		}
		suffix := strings.TrimPrefix(name, base)
		if suffix != "" && suffix[0] != '-' && suffix[0] != '.' {
			suffix = "-" + name
		}
		m.names[name] = m.action(".metadata.name") + suffix
	}
}

// nameOf returns the name of an object, or a new one for objects with generateName.
func nameOf(o *manifest.Object) string {
	metadata, _ := o.Content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	generated, _ := metadata["generateName"].(string)
	kind, _ := o.Content["kind"].(string)
	return cmp.Or(name, strings.TrimRight(generated, "-."), strings.ToLower(kind))
}

// made are the fields of metadata that the API server sets.
var made = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "generateName", "ownerReferences", "namespace", "finalizers", "deletionTimestamp", "deletionGracePeriodSeconds"}

// child converts an object to a child template.
func (m *manifests) child(o *manifest.Object) Child {
	m.file, m.line = o.File, o.Line
	content := runtime.DeepCopyJSON(o.Content)
	delete(content, "status")
	strip(content)
	if kind, _ := content["kind"].(string); m.scaled[kind+"/"+nameOf(o)] {
		delete(inside(content, []string{"spec"}), "replicas")
	}
	apiVersion, _ := content["apiVersion"].(string)
	kindName, _ := content["kind"].(string)
	gv, _ := schema.ParseGroupVersion(apiVersion)
	of, err := kind.Declared{}.Resolve(gv.WithKind(kindName))
	cluster := err == nil && !of.Namespaced
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	for _, field := range made {
		delete(metadata, field)
	}
	metadata["name"] = nameOf(o)
	without(metadata, "annotations", "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")
	content = m.copied(content, nil, nil).(map[string]any) //nolint:forcetypeassert // the copy of a mapping is a mapping
	if kindName == "Secret" {
		m.notes = append(m.notes, Note{o.File, o.Line, "the template contains the data of the Secret: everyone who can read the TemplateController can read it"})
	}
	name := Unique(EntryName(kindName), m.taken)
	m.lift(content, name)
	return Child{Name: name, Template: m.manifest(content), Cluster: cluster}
}

// copied returns a deep copy with tokens in place of the names of the objects, except in keys. in is the mapping that contains a value.
func (m *manifests) copied(value any, path []string, in map[string]any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out[key] = m.copied(value[key], append(slices.Clone(path), key), value)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = m.copied(item, append(slices.Clone(path), "[]"), in)
		}
		return out
	case string:
		if printed, ok := m.renamed(value, path, in); ok {
			return m.token(printed)
		}
		m.remains(value, path)
	}
	return value
}
