// Package manifest reads files of Kubernetes objects, and returns the file and line of a field of a
// TemplateController. It needs no cluster.
package manifest

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/crd"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Set holds the objects of files, in the order of files and documents. It is immutable after loading.
type Set struct {
	Controllers []*Controller // with unique names
	CRDs        []*Object     // CustomResourceDefinitions, including those of spec.crd
	Objects     []*Object     // all other kinds
}

// Object is an object in a file.
type Object struct {
	// Content is plain JSON data, with int64 and float64 for numbers. It must not be modified.
	Content map[string]any
	// File is "-" for standard input. Line is the first line of the document, or of the item of a List, from 1.
	File string
	Line int
}

// Controller is a TemplateController in a file. It is safe for concurrent use.
type Controller struct {
	*v1.TemplateController
	Object
	document *yamlDocument
	item     *place // place of the TemplateController in its document
}

// Stdin is the path for standard input.
const Stdin = "-"

// Error is an error in a file, with its place.
type Error struct {
	File         string
	Line, Column int    // from 1, in characters; 0 = unknown
	Message      string // one line, without a final period
}

// Error returns place and message on one line.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.name() + ": " + e.Message
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.name(), e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.name(), e.Line, e.Column, e.Message)
}

func (e *Error) name() string {
	if e.File == Stdin {
		return "standard input"
	}
	return e.File
}

// Named returns the TemplateController with that key (see v1.Key), or nil.
func (s *Set) Named(name string) *Controller {
	for _, c := range s.Controllers {
		if c.TemplateController.Key() == name {
			return c
		}
	}
	return nil
}

// DefaultNamespace sets the namespace of NamespacedTemplateControllers that have none in their file; Load sets "default".
func (s *Set) DefaultNamespace(namespace string) {
	for _, c := range s.Controllers {
		metadata, _ := c.Content["metadata"].(map[string]any)
		if c.TemplateController.Namespace != "" && metadata["namespace"] == nil {
			c.TemplateController.Namespace = namespace
			spec.Confine(namespace, &c.TemplateController.Spec)
		}
	}
}

// add adds an object to the list of its kind.
func (s *Set) add(d *yamlDocument, o Object, at *place) error {
	apiVersion, _ := o.Content["apiVersion"].(string)
	kind, _ := o.Content["kind"].(string)
	group, version, _ := strings.Cut(apiVersion, "/")
	switch {
	case group == v1.GroupVersion.Group && (kind == v1.KindTemplateController || kind == v1.KindNamespacedTemplateController):
		if version != v1.GroupVersion.Version {
			return d.errorAt(at.get("apiVersion"), "apiVersion %s: write %s", apiVersion, v1.GroupVersion)
		}
		return s.addController(d, o, at)
	case group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition":
		s.CRDs = append(s.CRDs, &o)
	default:
		s.Objects = append(s.Objects, &o)
	}
	return nil
}

func (s *Set) addController(d *yamlDocument, o Object, at *place) error {
	tc, err := d.decodeController(o.Content, at)
	if err != nil {
		return err
	}
	if tc.Name == "" {
		return d.errorAt(at.get("metadata"), "a %s without a name: set metadata.name", tc.Kind)
	}
	if other := s.Named(tc.Key()); other != nil {
		return d.errorAt(at.get("metadata").get("name"), "duplicate %s %s: rename or remove one; the other is in %s:%d", tc.Kind, tc.Key(), other.File, other.Line)
	}
	s.Controllers = append(s.Controllers, &Controller{TemplateController: tc, Object: o, document: d, item: at})
	if tc.Spec.CRD != nil {
		if definition, errs := crd.Of(tc.Name, &tc.Spec); len(errs) == 0 { // lint reports errors
			s.CRDs = append(s.CRDs, &Object{Content: crd.Manifest(definition), File: o.File, Line: o.Line})
		}
	}
	return nil
}

// Others returns all objects except TemplateControllers. CustomResourceDefinitions are included: they can be parents, children and related objects.
func (s *Set) Others() []*Object { return slices.Concat(s.Objects, s.CRDs) }

// Contents returns the contents of all objects except TemplateControllers.
func (s *Set) Contents() []map[string]any { return Contents(s.Others()) }

// Contents returns the contents of objects.
func Contents(objects []*Object) []map[string]any {
	var out []map[string]any
	for _, o := range objects {
		out = append(out, o.Content)
	}
	return out
}
