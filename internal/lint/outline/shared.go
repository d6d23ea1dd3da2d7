package outline

import (
	"slices"

	"go.yaml.in/yaml/v4"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file checks fields that other clients change: createOnlyFields, and replicas that an autoscaler changes.

// shared checks all child templates.
func (c *checker) shared() {
	scaled, entries := c.scaled(), map[string]*v1.Child{}
	for _, list := range [][]v1.Child{c.Spec.Children, spec.Finals(c.Spec)} {
		for i := range list {
			entries[syntax.ChildName(list[i].Name)] = &list[i]
		}
	}
	for _, u := range c.Units.Children {
		entry := entries[u.Text.Name]
		if entry == nil {
			continue
		}
		s := c.Skeletons.Of(u)
		for _, text := range entry.CreateOnlyFields {
			if path, ok := data.Path(text); ok {
				c.unknownField(s, path, text)
			}
		}
		for _, d := range s.Documents {
			at := c.in(s, d)
			replicas := entryNode(entryOf(d.Root, "spec"), "replicas")
			id, ok := at.objectName(d)
			if ok && replicas != nil && scaled[id] != "" && !createOnly(entry, "spec", "replicas") {
				c.Warn(finding.Autoscaled, at.place(replicas), "%s changes spec.replicas of this %s, and templater reverts that: add createOnlyFields: [spec.replicas] to this child template", scaled[id], id.kind)
			}
		}
	}
}

// createOnly reports whether the createOnlyFields of a child template have a field.
func createOnly(entry *v1.Child, field ...string) bool {
	return slices.ContainsFunc(entry.CreateOnlyFields, func(text string) bool {
		path, ok := data.Path(text)
		return ok && len(path) <= len(field) && slices.Equal(path, field[:len(path)])
	})
}

// unknownField reports a path in createOnlyFields that no object of the template can have.
func (c *checker) unknownField(s *Skeleton, path []string, text string) {
	if c.Known == nil || len(s.Documents) == 0 || s.Others {
		return
	}
	for _, d := range s.Documents {
		kind, ok := d.Kind()
		if !ok {
			return
		}
		if t, exists := c.Known.Lookup(kind); !exists || t == nil || hasField(t, path) {
			return
		}
	}
	d := s.Documents[0]
	c.Warn(finding.CreateOnlyFields, c.in(s, d).place(entryOf(d.Root, "kind")), "createOnlyFields has %s, but %s has no such field outside lists: correct the path", text, entryOf(d.Root, "kind").Value)
}

// hasField reports whether objects can have a field that is not in a list.
func hasField(t *openapi.Type, path []string) bool {
	for len(path) > 1 && t != nil && t.Kinds != 0 {
		if t.Kinds&openapi.Map == 0 {
			return false
		}
		field, ok := t.Fields[path[0]]
		switch {
		case ok:
			t = field.Type
		case t.Fields == nil:
			t = t.Items
		default:
			return t.Open
		}
		path = path[1:]
	}
	return t.MayHave(path)
}

// objectName is the source text of the kind and name of an object.
type objectName struct{ kind, name string }

// objectName returns the name of the object of a document, or false if it is not known.
func (at *docCheck) objectName(d Document) (id objectName, ok bool) {
	kind, ok := d.Kind()
	metadata := entryOf(d.Root, "metadata")
	if !ok || metadata.Kind != yaml.MappingNode {
		return id, false
	}
	id.kind = kind.Kind
	id.name, ok = at.written(metadata, "name")
	return id, ok && id.name != ""
}

// scaled returns the objects that autoscalers in child templates scale, with the kind of the autoscaler.
func (c *checker) scaled() map[objectName]string {
	out := map[objectName]string{}
	for _, u := range c.Units.Children {
		s := c.Skeletons.Of(u)
		for _, d := range s.Documents {
			kind, ok := d.Kind()
			target := entryOf(entryOf(d.Root, "spec"), "scaleTargetRef")
			if !ok || target.Kind != yaml.MappingNode || kind.Kind != "HorizontalPodAutoscaler" && kind.Kind != "ScaledObject" {
				continue
			}
			at := c.in(s, d)
			of, known := at.written(target, "kind")
			name, named := at.written(target, "name")
			if of == "" && kind.Kind == "ScaledObject" {
				of = "Deployment" // the default of KEDA
			}
			if known && named {
				out[objectName{of, name}] = kind.Kind
			}
		}
	}
	return out
}
