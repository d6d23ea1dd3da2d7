package simulate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/related/selection"
	"github.com/templater-dev/templater/internal/reconcile/view"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/spec"
)

// choose finds out what the parent sees by each entry of spec.related, or returns why that is not known.
func (p *pass) choose() *problem.Problem {
	in := &render.Input{Parent: p.parent.Content(), Budget: &p.budget}
	seen := map[string][]*object.Object{}
	for i := range p.compiled.Related {
		r := &p.compiled.Related[i]
		kind := p.kinds.find(r.GVK)
		of := selection.Scope{Namespace: p.parent.Namespace(), Namespaced: kind.Namespaced}
		chosen := selection.All(of)
		if r.Select != "" {
			yielded, err := p.compiled.Program.Select(r.Name, in)
			if err != nil {
				return problem.FromTemplate(err)
			}
			var fault string
			if chosen, fault = selection.Compile(yielded, of); fault != "" {
				return problem.Newf(v1.ReasonTemplateError, "%s: %s", syntax.SelectName(r.Name), fault)
			}
		}
		objects, err := p.watched(r)
		if err != nil {
			return problem.Newf(v1.ReasonRelatedUnreadable, "%s: %s", syntax.RelatedName(r.Name), err)
		}
		objects = slices.DeleteFunc(objects, func(o *object.Object) bool { return !chosen.Selects(o) })
		if p.state.Read != nil {
			objects = sorted(append(objects, p.state.Read(r.Name, chosen)...))
		}
		seen[r.Name] = objects
	}
	p.related, p.result.Related = seen, seen
	return nil
}

// watched returns what the selectors of an entry let through, sorted.
func (p *pass) watched(r *spec.Related) ([]*object.Object, error) {
	byLabels, err := labels.Parse(r.Labels)
	if err != nil {
		panic(err) // it is the text of a selector
	}
	byFields := fields.ParseSelectorOrDie(r.Fields) // likewise
	var out []*object.Object
	for _, content := range slices.Concat([]map[string]any{p.state.Parent}, p.state.Objects, p.state.Related) {
		if child.GVKOf(content).GroupKind() != r.GVK.GroupKind() {
			continue
		}
		o, err := object.From(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(content), err)
		}
		if p.lets(r, o) && byLabels.Matches(o) && byFields.Matches(selectable(content)) {
			out = append(out, o)
		}
	}
	return sorted(out), nil
}

// sorted returns objects of a kind in order. Of several of one name the first counts.
func sorted(objects []*object.Object) []*object.Object {
	slices.SortStableFunc(objects, func(a, b *object.Object) int { return object.CompareKeys(a.Key(), b.Key()) })
	return slices.CompactFunc(objects, func(a, b *object.Object) bool { return a.Key() == b.Key() })
}

// lets reports whether objects in the namespace of o are watched. A namespace of which nothing is known is taken to match.
func (p *pass) lets(r *spec.Related, o *object.Object) bool {
	if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, o.Namespace()) {
		return false
	}
	if r.NamespaceSelector == nil {
		return true
	}
	for _, content := range slices.Concat(p.state.Objects, p.state.Related) {
		if id := child.IDOf(content); id.Kind == (schema.GroupKind{Kind: "Namespace"}) && id.Name.Name == o.Namespace() {
			ns, err := object.From(content)
			return err == nil && r.NamespaceSelector.Matches(ns)
		}
	}
	return true
}

// selectable are the fields of an object, of which a selector takes texts.
type selectable map[string]any

// Has reports whether there is a text.
func (s selectable) Has(path string) bool { return s.Get(path) != "" }

// Get returns the text at a path such as status.phase, or "".
func (s selectable) Get(path string) string {
	var value any = map[string]any(s)
	for key := range pathKeys(path) {
		value = mapping(value)[key]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// relatedTo is what templates see as .related.
func (p *pass) relatedTo(name string) ([]map[string]any, error) {
	objects, known := p.related[name]
	if !known {
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return view.Contents(objects, &p.budget)
}

// logs are those that the State has. A Pod that has none there has not started.
func (p *pass) logs(pod map[string]any) (map[string]string, error) {
	metadata := mapping(pod["metadata"])
	return p.state.Logs[text(metadata["namespace"])+"/"+text(metadata["name"])], nil
}
