package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// decodeController decodes a TemplateController and sets the defaults of the API server. Unknown fields and wrong types are errors.
func (d *yamlDocument) decodeController(content map[string]any, at *place) (*v1.TemplateController, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, d.errorAt(at, "%s", plainError(err))
	}
	tc := &v1.TemplateController{}
	unknown, err := kjson.UnmarshalStrict(text, tc, kjson.DisallowUnknownFields)
	if err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			path := pathAt(text, wrong.Offset)
			return nil, d.errorAt(at.follow(path), "%s is a %s, but must be a %s%s", path, jsonWord(wrong.Value), typeWord(wrong.Type), typeHint(jsonWord(wrong.Value), wrong.Type))
		}
		return nil, d.errorAt(at, "%s", plainError(err))
	}
	for _, fault := range unknown {
		var of kjson.FieldError
		if errors.As(fault, &of) {
			return nil, d.errorAt(at.follow(of.FieldPath()), "unknown field %s%s", short(of.FieldPath()), insteadOf(of.FieldPath()))
		}
	}
	spec.Default(&tc.Spec)
	if tc.Kind == v1.KindNamespacedTemplateController {
		tc.Namespace = cmp.Or(tc.Namespace, metav1.NamespaceDefault)
		spec.Confine(tc.Namespace, &tc.Spec)
	} else {
		tc.Namespace = "" // the API server ignores it, and kustomize sets it
	}
	return tc, nil
}

// Place maps a position in the TemplateController to a position in its file. line and column are positions in a template, from 1, or 0 for all of it.
// where is the template (children[pod], children[pod].readyWhen, related[x].select, status, helpers) or the path of a field, such as
// spec.resyncPeriod. If the field is not in the file, Place returns the nearest enclosing field. A column of 0 means that only the line is known.
// The file is "-" for the standard input.
func (c *Controller) Place(where string, line, column int) (file string, fileLine, fileColumn int) {
	d := c.document
	at := c.find(where)
	if line == 0 {
		at = cmp.Or(c.repeated(where), at)
	}
	if at == nil {
		return d.file, d.first, 0
	}
	fileLine, fileColumn = d.first+at.key.Line-1, at.key.Column
	if line > 0 && !at.missing {
		if l, c := d.inScalar(resolve(at.node), line, column); l > 0 {
			return d.file, d.first + l - 1, c
		}
	}
	return d.file, fileLine, fileColumn
}

// repeated returns the name of the last of several entries with that name, for messages about the whole entry, or nil.
func (c *Controller) repeated(where string) *place {
	list, name, _ := strings.Cut(strings.TrimSuffix(where, "]"), "[")
	spec := c.item.get("spec")
	var all []*place
	switch list {
	case "children":
		all = append(spec.get(list).allNamed(name), spec.get("finalize").get(list).allNamed(name)...)
	case "related":
		all = spec.get(list).allNamed(name)
	}
	if len(all) < 2 {
		return nil
	}
	return all[len(all)-1].get("name")
}

// find returns the place of a template or field.
func (c *Controller) find(where string) *place {
	spec := c.item.get("spec")
	switch {
	case where == "status":
		return spec.get("status").get("template")
	case where == "helpers":
		return spec.get("helpers")
	case strings.HasPrefix(where, "children["):
		entry, rest, _ := strings.Cut(strings.TrimPrefix(where, "children["), "]")
		at := spec.get("children").named(entry)
		if final := spec.get("finalize").get("children").named(entry); at != nil && at.missing && !final.missing {
			at = final
		}
		if rest == "" {
			rest = "template"
		}
		return at.follow(rest)
	case strings.HasPrefix(where, "related["):
		return spec.follow(where)
	}
	return c.item.follow(where)
}
