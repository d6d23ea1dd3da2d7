package scaffold

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/manifest"
)

// FromManifests returns an operator whose children are these objects. Their names are derived from that of the parent, and so is
// whatever refers to them. Images, replicas, hosts and sizes of volumes become fields of the parent, with what they are as the default.
func FromManifests(gvk schema.GroupVersionKind, objects []*manifest.Object) (*Result, error) {
	if err := CheckKind(gvk); err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(slices.Clone(objects), func(o *manifest.Object) bool {
		apiVersion, _ := o.Content["apiVersion"].(string)
		return strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") // no object of a cluster
	})
	if len(objects) == 0 {
		return nil, errors.New("there is no object to make a template of")
	}
	m := &manifests{fields: map[string]any{}, example: map[string]any{}, names: map[string]string{}, taken: map[string]bool{}}
	m.delimiters(objects)
	m.name(objects)
	c := Controller{
		Name: Plural(gvk.Kind), GVK: gvk, Left: m.left, Right: m.right,
		Comment: fmt.Sprintf("Made of %d objects. Each %s has its own.", len(objects), gvk.Kind),
	}
	for _, o := range objects {
		c.Children = append(c.Children, m.child(o))
	}
	spec := map[string]any{"type": "object", "properties": m.fields}
	if len(m.fields) == 0 {
		delete(spec, "properties")
	}
	result := withDefinition(&Definition{GVK: gvk, Spec: spec}, &c, m.example)
	result.Notes = m.notes
	return result, nil
}

// manifests makes templates of objects.
type manifests struct {
	left, right string            // delimiters, if others are needed
	names       map[string]string // what stands for the names of objects, in templates
	taken       map[string]bool   // names of entries
	fields      map[string]any    // of the parent's spec: their schemas
	example     map[string]any    // their values
	printed     []string          // actions that stand in the objects, by their tokens
	notes       []Note
}

// delimiters chooses others where the objects hold the usual ones.
func (m *manifests) delimiters(objects []*manifest.Object) {
	all := ""
	for _, o := range objects {
		all += marshal(o.Content)
	}
	for _, pair := range [][2]string{{"{{", "}}"}, {"[[", "]]"}, {"<%", "%>"}, {"<<<", ">>>"}} {
		if !strings.Contains(all, pair[0]) {
			if pair[0] != "{{" {
				m.left, m.right = pair[0], pair[1]
			}
			return
		}
	}
}

// action returns what prints an expression.
func (m *manifests) action(expression string) string {
	left, right := m.left, m.right
	if left == "" {
		left, right = "{{", "}}"
	}
	return left + " " + expression + " " + right
}

// token returns text that stands for what an action prints, until the object is text.
func (m *manifests) token(action string) string {
	m.printed = append(m.printed, action)
	return fmt.Sprintf("xTEMPLATERx%dx", len(m.printed)-1)
}

var tokens = regexp.MustCompile(`xTEMPLATERx([0-9]+)x`)

// name finds the name that those of the objects have in common, and what stands for each of them.
func (m *manifests) name(objects []*manifest.Object) {
	base := ""
	for _, o := range objects {
		name := nameOf(o)
		if base == "" || len(name) < len(base) && strings.HasPrefix(base, name) {
			base = name
		}
	}
	for _, o := range objects {
		name := nameOf(o)
		suffix, own := strings.CutPrefix(name, base)
		switch {
		case own && (suffix == "" || suffix[0] == '-' || suffix[0] == '.'):
			m.names[name] = m.action(".metadata.name") + suffix
		default:
			m.names[name] = m.action(".metadata.name") + "-" + name
		}
	}
}

func nameOf(o *manifest.Object) string {
	metadata, _ := o.Content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// made are the fields of metadata that the API server fills in.
var made = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "ownerReferences", "namespace", "finalizers", "deletionTimestamp", "deletionGracePeriodSeconds"}

// child makes an entry of an object.
func (m *manifests) child(o *manifest.Object) Child {
	content := m.copied(o.Content, nil).(map[string]any) //nolint:forcetypeassert // the copy of a mapping is one
	delete(content, "status")
	apiVersion, _ := content["apiVersion"].(string)
	kindName, _ := content["kind"].(string)
	gv, _ := schema.ParseGroupVersion(apiVersion)
	of, err := kind.Declared{}.Resolve(gv.WithKind(kindName))
	cluster := err == nil && !of.Namespaced
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, field := range made {
			delete(metadata, field)
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
			delete(annotations, "deployment.kubernetes.io/revision")
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
	}
	if kindName == "Secret" {
		m.notes = append(m.notes, Note{o.File, o.Line, "the Secret is in the template with all that it holds: whoever may read the TemplateController can read it"})
	}
	name := Unique(EntryName(kindName), m.taken)
	m.lift(content, name)
	return Child{Name: name, Template: m.text(content), Cluster: cluster}
}

// copied returns a deep copy in which tokens stand for the names of the objects. What is a key stays.
func (m *manifests) copied(value any, path []string) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = m.copied(item, append(slices.Clone(path), key))
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = m.copied(item, append(slices.Clone(path), "[]"))
		}
		return out
	case string:
		if printed, isName := m.names[value]; isName && !fixed(path) {
			return m.token(m.inLabel(printed, path))
		}
	}
	return value
}

// local are the lists of things in an object that have names of their own.
var local = []string{"containers", "initContainers", "volumes", "volumeMounts", "volumeClaimTemplates", "ports", "env"}

// fixed reports whether a name at that path is about something else than an object.
func fixed(path []string) bool {
	switch {
	case len(path) == 0 || slices.Contains([]string{"kind", "apiVersion", "image"}, path[len(path)-1]):
		return true
	case len(path) > 3 && path[len(path)-2] == "metadata": // of an object in an object
		return slices.Contains(local, path[len(path)-4])
	}
	return len(path) > 2 && slices.Contains(local, path[len(path)-3])
}

// inLabel makes what stands for a name short enough where it is the value of a label.
func (m *manifests) inLabel(printed string, path []string) string {
	const name = ".metadata.name"
	if len(path) > 1 && slices.Contains([]string{"labels", "matchLabels", "selector"}, path[len(path)-2]) {
		return strings.Replace(printed, m.action(name), m.action(name+" | dnsLabel"), 1)
	}
	return printed
}

// text returns the manifest of an object, with actions in place of tokens.
func (m *manifests) text(content map[string]any) string {
	head := map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"]}
	text := marshal(head)
	if metadata, ok := content["metadata"]; ok {
		text += marshal(map[string]any{"metadata": metadata})
	}
	rest := map[string]any{}
	for key, value := range content {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			rest[key] = value
		}
	}
	if len(rest) > 0 {
		text += marshal(rest)
	}
	return tokens.ReplaceAllStringFunc(text, func(token string) string {
		i, _ := strconv.Atoi(tokens.FindStringSubmatch(token)[1])
		return m.printed[i]
	})
}
